"""A task's input from the command line."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from taskgate.client import Upload

Labels = Annotated[
    list[str] | None, typer.Option("-m", "--metadata", metavar="KEY=VALUE", help="A label.")
]

MAX_INLINE: Final = 60 * 1024
"""Bytes of a document that fit into a submit, as base64 too."""
_FIELD: Final = re.compile(r"(?P<field>[a-z][a-z0-9_]*)=(?P<path>.+)")
_TEXT_FORMATS: Mapping[str, str] = {".md": "markdown", ".markdown": "markdown"}


Send = Callable[[Path], Upload]
"""Uploads a file."""


def read_input(
    pairs: Iterable[str], whole: str | None, files: Iterable[str], send: Send
) -> dict[str, Any]:
    """The input: `--input` first, then each `--file`, then each `-i`, which wins."""
    given = _object(whole) if whole else {}
    for file in files:
        given |= _file(file, send)
    return given | dict(map(_pair, pairs))


def read_labels(pairs: Iterable[str]) -> dict[str, str]:
    """Metadata: every value is a text."""
    return dict(_split(pair) for pair in pairs)


def read_then(text: str | None) -> list[Any]:
    """What follows: a list of follow-ups, or one alone."""
    found = _parsed("--then", text) if text else []
    return found if isinstance(found, list) else [found]


def _parsed(option: str, given: str) -> Any:
    text = _read(Path(given[1:])).decode() if given.startswith("@") else given
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates
        )
    except ValueError as error:
        raise typer.BadParameter(f"{option} is not JSON: {error}") from None


def _object(whole: str) -> dict[str, Any]:
    parsed = _parsed("--input", whole)
    if not isinstance(parsed, dict):
        raise typer.BadParameter("--input must be a JSON object")
    return parsed


def _file(given: str, send: Send) -> dict[str, Any]:
    """``field=path`` is uploaded, and the field refers to it; a path alone is a document."""
    named = _FIELD.fullmatch(given)
    if named:
        path = Path(named["path"])
        _require_file(path)
        return {named["field"]: send(path).ref}
    return _document(Path(given), send)


def _document(path: Path, send: Send) -> dict[str, Any]:
    """A small PDF travels as base64, a small text as text; what is larger is uploaded."""
    _require_file(path)
    if path.stat().st_size > MAX_INLINE:
        kind = "pdf" if path.suffix.lower() == ".pdf" else _text_format(path)
        return {"format": kind, "document": send(path).ref}
    content = _read(path)
    if content.startswith(b"%PDF"):
        return {"format": "pdf", "content_base64": base64.b64encode(content).decode()}
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{path} is neither a PDF nor UTF-8 text") from None
    return {"format": _text_format(path), "text": text}


def _text_format(path: Path) -> str:
    return _TEXT_FORMATS.get(path.suffix.lower(), "text")


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise typer.BadParameter(f"{path}: No such file")


def _pair(pair: str) -> tuple[str, Any]:
    """``key=value``: a JSON value if it is one, a file's text after ``@``, else the text itself."""
    name, value = _split(pair)
    if value.startswith("@"):
        return name, _read(Path(value[1:])).decode()
    try:
        return name, json.loads(value, parse_constant=_refuse_constant)
    except ValueError:
        return name, value


def _split(pair: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not (name and equals):
        raise typer.BadParameter(f"{pair!r} is not of the form key=value")
    return name, value


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The gateway refuses a key that stands twice; here one of the two would be lost unseen."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{max(names, key=names.count)} stands there more than once")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
