"""Sets a Markdown text as a plain PDF: ``python examples/make_pdf.py handbook.md handbook.pdf``.

No library writes it, so that the document of the demo can be made again anywhere, byte for byte.
A form feed in the text starts a page.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

WIDTH: Final = 92
LINES: Final = 48
LEADING: Final = 14
_FONTS: Final = ("Helvetica", "Helvetica-Bold")


def make_pdf(text: str) -> bytes:
    """The PDF of a text in WinAnsi characters."""
    pages = list(_pages(text))
    objects = [*_frame(len(pages))]
    for number, lines in enumerate(pages):
        objects += [_page(number), _stream(_drawn(lines, number + 1))]
    return _file(objects)


def _pages(text: str) -> Iterator[Sequence[str]]:
    for part in text.split("\f"):
        lines = [line for paragraph in part.strip().split("\n") for line in _wrapped(paragraph)]
        for start in range(0, len(lines), LINES):
            yield lines[start : start + LINES]


def _wrapped(paragraph: str) -> list[str]:
    return textwrap.wrap(paragraph, WIDTH, drop_whitespace=True) or [""]


def _drawn(lines: Sequence[str], number: int) -> bytes:
    drawn = [f"BT {LEADING} TL 60 780 Td"]
    for line in lines:
        font, size, shown = (2, 14, line.lstrip("# ")) if line.startswith("#") else (1, 10, line)
        drawn.append(f"/F{font} {size} Tf ({_escaped(shown)}) Tj T*")
    drawn.append(f"ET BT /F1 8 Tf 290 40 Td ({number}) Tj ET")
    return "\n".join(drawn).encode("cp1252")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _frame(count: int) -> Iterator[bytes]:
    """Catalog, page tree and fonts: objects 1 to 4; page n is object 5 + 2n."""
    kids = " ".join(f"{5 + 2 * n} 0 R" for n in range(count))
    yield b"<< /Type /Catalog /Pages 2 0 R >>"
    yield f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode()
    for font in _FONTS:
        yield (
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>"
        ).encode()


def _page(number: int) -> bytes:
    return (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
        "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> "
        f"/Contents {6 + 2 * number} 0 R >>"
    ).encode()


def _stream(content: bytes) -> bytes:
    # Not compressed: two zlibs may pack the same text differently, and a diff can be read.
    return f"<< /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream"


def _file(objects: Sequence[bytes]) -> bytes:
    """The objects, the table of where each begins, and the trailer."""
    body, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        bytes(body)
        + (
            f"xref\n0 {size}\n0000000000 65535 f \n{table}"
            f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
        ).encode()
    )


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:3])
    target.write_bytes(make_pdf(source.read_text("utf-8")))
