"""PDFs made by hand: small, and wrong in chosen ways."""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Sequence

import pypdf


def pdf(*pages: str) -> bytes:
    """One page a text, in Helvetica."""
    return _built([_content(text) for text in pages], compress=False)


def bomb(unpacked: int) -> bytes:
    """One page whose content unpacks to that many bytes."""
    return _built([b" " * unpacked], compress=True)


def encrypted(raw: bytes, password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(raw))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def as_input(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _content(text: str) -> bytes:
    lines = [text[i : i + 80] for i in range(0, len(text), 80)]
    shown = " ".join(f"({line}) Tj T*" for line in lines)
    return f"BT /F1 10 Tf 12 TL 50 750 Td {shown} ET".encode("latin-1")


def _built(contents: Sequence[bytes], *, compress: bool) -> bytes:
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(contents)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, content in enumerate(contents):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        data = zlib.compress(content, 9) if compress else content
        filtered = " /Filter /FlateDecode" if compress else ""
        head = f"<< /Length {len(data)}{filtered} >>\nstream\n".encode()
        objects.append(head + data + b"\nendstream")
    return _file(objects)


def _file(objects: Sequence[bytes]) -> bytes:
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % at for at in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)
