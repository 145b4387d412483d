from __future__ import annotations

import shlex

import pytest

from frazil.text.quoting import identifier, quoted


@pytest.mark.parametrize("text", ["", "a", "two words", 'a"b', "a\\", '\\"', "a'b", "a=b;"])
def test_quoted_text_is_one_word_that_reads_as_it_was(text: str) -> None:
    assert shlex.split(f"-X={quoted(text)} next") == [f"-X={text}", "next"]


@pytest.mark.parametrize(
    ("name", "expected"), [("", '""'), ("a b", '"a b"'), ('a"b', '"a""b"'), ('"; DROP', '"""; DROP"')]
)
def test_a_name_of_sql_cannot_leave_its_quotes(name: str, expected: str) -> None:
    assert identifier(name) == expected
