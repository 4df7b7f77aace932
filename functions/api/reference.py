"""Writes docs/reference/{http,contract}.md and openapi.json from the code: python -m functions.api.reference.

A test compares what is checked in with what this makes, so that they cannot drift.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from functions.api import contract_table
from functions.api.openapi import document

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "reference"


def files() -> Mapping[str, str]:
    """What the folder must hold, by file name."""
    made = document()
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    return {
        "openapi.json": text,
        "http.md": "\n".join(_page(made)) + "\n",
        "contract.md": contract_table.page(),
    }


def write() -> None:
    """Write the folder's files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def _page(made: Mapping[str, Any]) -> Iterator[str]:
    yield "# HTTP reference"
    yield ""
    yield "<!-- Written by `python -m functions.api.reference`; edit the code, not this page. -->"
    yield ""
    yield made["info"]["description"]
    yield ""
    yield "The same as a machine reads it: [openapi.json](openapi.json), served at `/openapi.json`."
    yield ""
    yield "## Routes"
    yield ""
    yield "| route | what it does | scope | answers | refuses with |"
    yield "|---|---|---|---|---|"
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield _row(f"{method.upper()} {path}", operation)
    yield from _details(made)
    yield from _events(made)
    yield from _problems(made)


def _row(route: str, operation: Mapping[str, Any]) -> str:
    good = [status for status in operation["responses"] if status < "400"]
    bad = [status for status in operation["responses"] if status >= "400"]
    any_key = "any key" if operation["security"] else "public"
    scope = f"`{operation['x-scope']}`" if "x-scope" in operation else any_key
    cells = (f"`{route}`", operation["summary"], scope, " ".join(good), " ".join(bad) or "–")
    return "| " + " | ".join(cells) + " |"


def _details(made: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield from ("", f"## {method.upper()} {path}", "", operation["description"])
            yield from _table("Parameters", map(_parameter, operation["parameters"]))
            yield from _table("Body", _fields(made, operation))
            yield from ("", "Answers:", "")
            for status, answer in operation["responses"].items():
                codes = re.findall(r"^- (`\w+`)", answer["description"], re.MULTILINE)
                yield f"- **{status}** " + (", ".join(codes) or answer["description"])


def _events(made: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## What is posted to a `callback_url`", "")
    yield "How to receive it: [receive callbacks](../how-to/receive-callbacks.md)."
    for hook in made["webhooks"].values():
        event = hook["post"]
        yield from ("", f"### {event['summary']}", "", event["description"])
        yield from _table("Headers", map(_parameter, event["parameters"]))
        body = event["requestBody"]["content"]["application/json"]["schema"]
        schema = made["components"]["schemas"][body["$ref"].rpartition("/")[2]]
        yield from _table("Body", _shown(schema["properties"], ""))


def _shown(properties: Mapping[str, Any], before: str) -> Iterator[str]:
    for field, about in properties.items():
        if "properties" in about:
            yield from _shown(about["properties"], f"{before}{field}.")
            continue
        words = "one of " + ", ".join(f"`{w}`" for w in about["enum"]) if "enum" in about else ""
        told = about.get("description") or words
        yield f"- `{before}{field}`" + (f": {told}" if told else "")


def _table(title: str, rows: Iterator[str]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield from ("", f"{title}:", "", *found)


def _parameter(parameter: Mapping[str, Any]) -> str:
    return f"- `{parameter['name']}` ({parameter['in']}): {parameter['description']}"


def _fields(made: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[str]:
    if "requestBody" not in operation:
        return
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    yield from _lines(made, body, "")


def _lines(made: Mapping[str, Any], named: Mapping[str, Any], before: str) -> Iterator[str]:
    schema = made["components"]["schemas"][named["$ref"].rpartition("/")[2]]
    required = schema.get("required", ())
    for field, about in schema["properties"].items():
        optional = f"default `{json.dumps(about['default'])}`" if "default" in about else "optional"
        need = "required" if field in required else optional
        yield f"- `{before}{field}` ({need}): {_described(about)}"
        if "$ref" in about:
            yield from _lines(made, about, f"{before}{field}.")
        # A list of what it stands in itself is described once.
        if (items := about.get("items", {})).get("$ref", named["$ref"]) != named["$ref"]:
            yield from _lines(made, items, f"{before}{field}.N.")


def _described(about: Mapping[str, Any]) -> str:
    """Of the field, or of the one thing that it may be beside null."""
    inner = (option.get("description") for option in about.get("anyOf", ()))
    return str(about.get("description") or next(filter(None, inner)))


def _problems(made: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## Problems", "")
    yield from ("| code | status | what it says | what to do |", "|---|---|---|---|")
    for problem in made["x-problems"]:
        told = " | ".join(problem[part] for part in ("title", "advice"))
        yield f"| `{problem['code']}` | {problem['status']} | {told} |"


if __name__ == "__main__":
    write()
