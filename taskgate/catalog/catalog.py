"""The task types of a deployment, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from taskgate.catalog.references import upload_kinds
from taskgate.catalog.tasktype import TaskType
from taskgate.errors import UnknownTaskType
from taskgate.nearest import did_you_mean, in_words
from taskgate.settings import PRIORITIES
from taskgate.uploads import MAX_WHOLE_BYTES, WHOLE_TYPE


class Catalog:
    """The task types by name."""

    def __init__(self, types: Sequence[TaskType]) -> None:
        self._types = {t.name: t for t in types}

    def __iter__(self) -> Iterator[TaskType]:
        return iter(self._types.values())

    def __getitem__(self, name: str) -> TaskType:
        if name not in self._types:
            raise UnknownTaskType(self.unknown(name))
        return self._types[name]

    def find(self, name: str) -> TaskType | None:
        """The type, or None when this deployment does not serve it (any more)."""
        return self._types.get(name)

    def unknown(self, name: str) -> str:
        """What to say of a name that is none: the one that was meant, and all there are."""
        hint = did_you_mean(name, self._types)
        return (
            f"No such task type{hint or '.'} This gateway serves {in_words(sorted(self._types))}."
        )

    @property
    def uploads(self) -> Mapping[str, int]:
        """The content types that any type takes as an upload, and the most bytes of each."""
        taken = {WHOLE_TYPE: MAX_WHOLE_BYTES}
        for kind in self:
            for upload in upload_kinds(kind.input_model):
                for content_type in upload.content_types:
                    taken[content_type] = max(taken.get(content_type, 0), upload.max_bytes)
        return taken

    @property
    def pools(self) -> tuple[str, ...]:
        """The pools that any type uses, in a stable order."""
        return tuple(sorted({t.pool for t in self}))

    def lanes(self) -> tuple[str, ...]:
        """The lanes of every pool: one SQS queue each."""
        return tuple(f"{pool}-{priority}" for pool in self.pools for priority in PRIORITIES)
