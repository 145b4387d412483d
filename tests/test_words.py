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
FILES = sorted(
    path.relative_to(ROOT) for folder in ("src", "tests", "bench", "scripts") for path in (ROOT / folder).rglob("*.py")
)

_PAGE = re.compile(r"[\w-]+\.md\b")
_SECTION = re.compile(r"\.md,? (?:section )?\d|\bseeds? \d{3}\b|\bDESIGN\b", re.IGNORECASE)
_CODE = re.compile(r"\b[A-Z]{1,2}\d{2}\b|\((?!V|S3)[A-Z]\d\)|\b[A-Z]#\d+|\b[Rr]ows? [A-Z]\d")
_CODED_TEST = re.compile(r"def (test_(?!s3_)[a-z]{1,2}\d{1,2}_\w*)")

_NO_NOUN = re.compile(r"(?:What|Where|Who|Whose|Which|Why|How|Those|They|Its?|So|Of|As|The same)\b")


def docstrings(text: str) -> Iterator[str]:
    """The docstrings, and the texts that stand alone below a constant, of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def words(text: str) -> Iterator[str]:
    """The docstrings and the comments of a module."""
    yield from docstrings(text)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def riddles(text: str) -> list[str]:
    """What a reader of a module could not look up."""
    found = _CODED_TEST.findall(text)
    if not any(pattern.search(text) for pattern in (_PAGE, _SECTION, _CODE)):
        return found
    for said in words(text):
        found += [page for page in _PAGE.findall(said) if page not in PAGES]
        found += _SECTION.findall(said) + _CODE.findall(said)
    return found


def test_words_can_be_looked_up() -> None:
    found = {str(path): riddles((ROOT / path).read_text()) for path in FILES}
    assert {path: said for path, said in found.items() if said} == {}


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    sources = (path for path in FILES if path.parts[0] == "src")
    found = {
        str(path): [text for text in docstrings((ROOT / path).read_text()) if _NO_NOUN.match(text)] for path in sources
    }
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.parametrize(
    "text",
    [
        '"""Keys of the sink (connect-rest.md 6.2)."""',
        '"""Rules between keys (object-sinks.md 2.3)."""',
        "x = 1  # seed 000 section 6",
        '"""The table is the truth (DESIGN)."""',
        '"""None when a partition was idle (K06)."""',
        '"""Keys that a validation shows (C4)."""',
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
