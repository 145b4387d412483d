from __future__ import annotations

import re
import shlex
from urllib.parse import unquote

import httpx
import pytest

from frazil.text.quoting import identifier, quoted, segment


@pytest.mark.parametrize("text", ["", "a", "two words", 'a"b', "a\\", '\\"', "a'b", "a=b;"])
def test_quoted_text_is_one_word_that_reads_as_it_was(text: str) -> None:
    assert shlex.split(f"-X={quoted(text)} next") == [f"-X={text}", "next"]


@pytest.mark.parametrize(
    ("name", "expected"), [("", '""'), ("a b", '"a b"'), ('a"b', '"a""b"'), ('"; DROP', '"""; DROP"')]
)
def test_a_name_of_sql_cannot_leave_its_quotes(name: str, expected: str) -> None:
    assert identifier(name) == expected


@pytest.mark.parametrize("name", [".", "..", "a/b", "a b", "%2E", "ä", "?x#y"])
def test_a_name_is_one_segment_of_an_address(name: str) -> None:
    url = httpx.URL(f"http://h/connectors/{segment(name)}/status")
    [found] = re.findall(rb"^/connectors/([^/?]+)/status$", url.raw_path)
    assert unquote(found.decode()) == name
