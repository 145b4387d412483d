from __future__ import annotations

import re

import pytest

from frazil.text.java_regex import compile_java, replacement


@pytest.mark.parametrize(
    ("pattern", "template", "text", "expected"),
    [
        (r"(.*)-(\d+)", r"$2_$1\$", "a-5", "5_a$"),
        (r"(a)", "$12", "a", "a2"),
        (r"(?<first>a)(?<second>b)\k<first>", "${second}${first}", "aba", "ba"),
        (r"\\(?<n>a)\(?<n>", "${n}", r"\a(<n>", "a"),
        (r"(?<=x)a(?<!y)", "b", "xa", "xb"),
        (r"(a)|(b)", "[$1$2]", "b", "[b]"),
        (r"a", r"\\", "a", "\\"),
        (r"a", "", "a", ""),
    ],
)
def test_replacements(pattern: str, template: str, text: str, expected: str) -> None:
    compiled = compile_java(pattern)

    assert compiled.sub(replacement(template, compiled), text, count=1) == expected


@pytest.mark.parametrize(
    ("template", "reason"),
    [("$2", "No group 2"), ("${x}", "No group with name {x}"), ("$", "no meaning"), ("a\\", "no")],
)
def test_replacements_that_name_nothing(template: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        replacement(template, compile_java("(a)"))


def test_an_expression_that_does_not_compile() -> None:
    with pytest.raises(re.error):
        compile_java("[")
