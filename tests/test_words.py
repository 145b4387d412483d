"""Comments, docstrings and names of tests say what is meant: no documents that are not here, no codes of their rows."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = {path.name for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("bench/*.md"))}
NOT_YET = (
    "src/frazil/engine",
    "src/frazil/pipeline",
    "src/frazil/query",
    "src/frazil/worker/cluster",
    "src/frazil/worker/rest",
    "src/frazil/worker/sources",
    "src/frazil/worker/storage",
    "tests/engine",
    "tests/pipeline",
    "tests/query",
    "tests/worker/cluster",
    "tests/worker/rest",
    "tests/worker/sources",
    "tests/worker/storage",
)
"""Folders where such words are left."""
FILES = sorted(
    path.relative_to(ROOT)
    for folder in ("src", "tests", "bench", "scripts")
    for path in (ROOT / folder).rglob("*.py")
    if not str(path.relative_to(ROOT)).startswith(NOT_YET)
)

_PAGE = re.compile(r"[\w-]+\.md\b")
_SECTION = re.compile(r"\.md,? (?:section )?\d|\bseeds? \d{3}\b|\bDESIGN\b", re.IGNORECASE)
_CODE = re.compile(r"\b[A-Z]{1,2}\d{2}\b|\b[A-Z]#\d+|\b[Rr]ows? [A-Z]\d")
_CODED_TEST = re.compile(r"def (test_(?!s3_)[a-z]{1,2}\d{1,2}_\w*)")


def words(text: str) -> Iterator[str]:
    """The docstrings, the texts that stand alone below a constant, and the comments of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def riddles(text: str) -> list[str]:
    """What a reader of a module could not look up."""
    found = _CODED_TEST.findall(text)
    for said in words(text):
        found += [page for page in _PAGE.findall(said) if page not in PAGES]
        found += _SECTION.findall(said) + _CODE.findall(said)
    return found


def test_words_can_be_looked_up() -> None:
    found = {str(path): riddles((ROOT / path).read_text()) for path in FILES}
    assert {path: said for path, said in found.items() if said} == {}


@pytest.mark.parametrize(
    "text",
    [
        '"""Keys of the sink (connect-rest.md 6.2)."""',
        '"""Rules between keys (object-sinks.md 2.3)."""',
        "x = 1  # seed 000 section 6",
        '"""The table is the truth (DESIGN)."""',
        '"""None when a partition was idle (K06)."""',
        "# Iceberg finds columns by dotted names (T#324)",
        '"""Rows J2 and J8."""',
        "def test" + "_x07_a_topic_that_was_made_again():\n    pass",
    ],
)
def test_riddles_are_found(text: str) -> None:
    assert riddles(text)


def test_plain_words_are_none() -> None:
    text = "def test_s3_is_asked():\n    assert 'K06'  # noqa: S101, see architecture.md; S3 has 10 of 50"
    assert riddles(text) == []
