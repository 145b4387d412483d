from __future__ import annotations

import pytest

from frazil.declare.placeholders import Placeholder, has_placeholder, placeholders, replace


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${env:A}", [("env", "", "A")]),
        ("${file:/a/b.properties:key}", [("file", "/a/b.properties", "key")]),
        ("${file:/a:key:with:colons}", [("file", "/a", "key:with:colons")]),
        ("x ${env:A} y ${dir:/s:n}", [("env", "", "A"), ("dir", "/s", "n")]),
        ("${A}", []),
        ("${topic}-${partition}", []),
        ("$env:A", []),
        ("", []),
    ],
)
def test_forms(text: str, expected: list[tuple[str, str, str]]) -> None:
    found = list(placeholders(text))
    assert [(one.provider, one.path, one.key) for one in found] == expected
    assert has_placeholder(text) is bool(expected)


def test_values_are_not_looked_at_again() -> None:
    assert replace("a${env:A}b", lambda one: f"<{one.key}${{env:B}}>") == "a<A${env:B}>b"
    assert replace("${env:A}", lambda one: one.text) == "${env:A}"


def test_the_text_is_kept() -> None:
    assert next(placeholders("-${dir:/s:n}-")) == Placeholder("${dir:/s:n}", "dir", "/s", "n")
