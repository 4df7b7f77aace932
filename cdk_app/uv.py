"""The uv of this environment, which builds the bundle without Docker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

UV: Final = str(Path(sys.executable).parent / "uv")
