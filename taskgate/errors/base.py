"""The root, and what is wrong before anything runs."""

from __future__ import annotations


class TaskgateError(Exception):
    """Something went wrong in Taskgate."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class BadSetting(TaskgateError):
    """A setting is missing or outside its bounds."""

    def __init__(self, name: str, value: object, bound: str) -> None:
        super().__init__(f"{name} is {value!r}; it must be {bound}.")
        self.name = name
