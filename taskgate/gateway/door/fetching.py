"""What a run reads beside its input: files of other tasks' results, and uploads. The owner's only.

Each method raises `InvalidInput` for what is not there, or is not the owner's; and `Unavailable`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from taskgate.errors import InvalidInput, Unavailable
from taskgate.ports import Ports
from taskgate.results import Stored
from taskgate.task import Owner, ResultFile
from taskgate.uploads import MAX_WHOLE_BYTES, key_of


@dataclass(frozen=True, slots=True)
class Files:
    """The files that one owner's task may read. `go_on` ends a download by raising."""

    ports: Ports
    owner: Owner
    go_on: Callable[[], None] = lambda: None

    def result(self, task_id: str, name: str, path: str) -> None:
        """Download a file of another task's result into `path`."""
        file = self._result_file(task_id, name)
        fetched = self.ports.results.fetch(file.key, path, self.go_on)
        if fetched is None:
            raise InvalidInput(f"The result {name} of {task_id} is kept no more.")
        if fetched.digest != file.sha256:
            raise Unavailable(f"{name} of {task_id} did not arrive as it was written.")

    def upload(self, upload_id: str, path: str) -> Stored:
        """Download an upload into `path`; returns what it says of itself."""
        fetched = self.ports.results.fetch(key_of(self.owner, upload_id), path, self.go_on)
        if fetched is None:
            raise gone(upload_id)
        declared = fetched.stored.sha256
        if declared and declared != fetched.digest.hex():
            raise InvalidInput(f"{upload_id} holds other bytes than those of its sha256.")
        return fetched.stored

    def whole(self, upload_id: str) -> str:
        """The JSON text of an input that was uploaded."""
        raw = self.ports.results.read(key_of(self.owner, upload_id), MAX_WHOLE_BYTES + 1)
        if raw is None:
            raise gone(upload_id)
        if len(raw) > MAX_WHOLE_BYTES:
            raise InvalidInput(f"An input is at most {MAX_WHOLE_BYTES} bytes, uploaded or not.")
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{upload_id} is not UTF-8: byte {error.start}.") from None

    def _result_file(self, task_id: str, name: str) -> ResultFile:
        source = self.ports.tasks.get(task_id)
        files = source.result if source and source.owner == self.owner else ()
        for file in files:
            if file.name == name:
                return file
        raise InvalidInput(f"You have no result {name} of {task_id}.")


def gone(upload_id: str) -> InvalidInput:
    """The same for one that was never there, one that is there no more, and anybody else's."""
    return InvalidInput(f"You have no upload {upload_id}, or it is kept no more.")
