"""The API's own log is kept from the tests' output, and from other tests, as in the API's unit tests."""

from tests.unit.functions.conftest import logged

__all__ = ["logged"]
