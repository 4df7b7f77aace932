"""The project's version; neither the functions' bundle nor a worker's image has metadata to read it from."""

from typing import Final

VERSION: Final = "0.1.0"
