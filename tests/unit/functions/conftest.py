from __future__ import annotations

import pytest

from tests.unit.functions.api_world import ApiWorld


@pytest.fixture
def api() -> ApiWorld:
    return ApiWorld()
