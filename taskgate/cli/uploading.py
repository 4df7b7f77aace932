"""`taskgate upload`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from taskgate.cli.options import AsJson, client_of
from taskgate.cli.printing import aside, print_json, say, size_of
from taskgate.cli.story import day_text

ContentType = Annotated[
    str | None, typer.Option(metavar="TYPE", help="Such as application/pdf; by its ending if not.")
]


def upload(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False)],
    *,
    content_type: ContentType = None,
    as_json: AsJson = False,
) -> None:
    """Upload a file for tasks to read; its id is what an input refers to."""
    made = client_of(context).upload(file, content_type=content_type)
    if as_json:
        kept = made.kept_until.isoformat() if made.kept_until else None
        print_json({**asdict(made), "kept_until": kept})
        return
    say((made.id, "bold"))
    kept = day_text(made.kept_until) or "some days from now"
    aside(f"{size_of(made.size)}, sha256 {made.sha256}, kept until {kept}")
