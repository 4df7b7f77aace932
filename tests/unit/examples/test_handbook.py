"""The document of the demo is what its text and its script say."""

import runpy
from pathlib import Path

import pypdf

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_pdf_is_the_one_that_the_script_makes_of_the_text() -> None:
    make_pdf = runpy.run_path(str(EXAMPLES / "make_pdf.py"))["make_pdf"]
    made = make_pdf((EXAMPLES / "handbook.md").read_text("utf-8"))
    assert (EXAMPLES / "handbook.pdf").read_bytes() == made


def test_its_text_comes_out_of_every_page_word_for_word() -> None:
    reader = pypdf.PdfReader(EXAMPLES / "handbook.pdf")
    pages = [page.extract_text() for page in reader.pages]
    # The last line of a page is its number.
    read = " ".join(text.strip().rpartition("\n")[0] for text in pages).split()
    written = (EXAMPLES / "handbook.md").read_text("utf-8").replace("# ", "").split()
    assert len(reader.pages) == 5
    assert read == written


def test_it_is_small_enough_to_be_sent_in_one_request() -> None:
    assert (EXAMPLES / "handbook.pdf").stat().st_size < 40_000
