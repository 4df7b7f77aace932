"""The task types that this deployment serves. To add one: an entry here and one runner class."""

from __future__ import annotations

from taskgate.catalog.catalog import Catalog
from taskgate.catalog.embed_document import EMBED_DOCUMENT
from taskgate.catalog.finish_image import FINISH_IMAGE
from taskgate.catalog.tasktype import TaskType
from taskgate.catalog.text_to_image import TEXT_TO_IMAGE

CATALOG = Catalog((EMBED_DOCUMENT, TEXT_TO_IMAGE, FINISH_IMAGE))

__all__ = ["CATALOG", "Catalog", "TaskType"]
