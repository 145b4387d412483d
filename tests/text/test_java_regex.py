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

    assert compiled.replaced_first(text, replacement(template, compiled)) == expected


@pytest.mark.parametrize(
    ("template", "reason"),
    [("$2", "No group 2"), ("${x}", "No group with name {x}"), ("$", "no meaning"), ("a\\", "no")],
)
def test_replacements_that_name_nothing(template: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        replacement(template, compile_java("(a)"))


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"shop\.a[0-9]*", "shop.a1", True),
        (r"shop\.a[0-9]*", "xshop.a1", False),
        (r"shop\.a[0-9]*", "shop.a1_old", False),
        (r"a|ab", "ab", True),
        (r"\d\w", "1a", True),
        (r"\d", "\u0661", False),
        (r"\p{L}+", "größe", True),
        (r"\Qa.b\E", "a.b", True),
        (r"^(?!tmp)(?!.*test).*$", "orders", True),
        (r"^(?!tmp)(?!.*test).*$", "tmp_orders", False),
        (r"^(?!tmp)(?!.*test).*$", "orders_test_1", False),
        (r"(?=.*(?:x|y)[)]).+", "a y)", True),
        (r"(?=.*(?:x|y)[)]).+", "a y", False),
    ],
)
def test_an_expression_matches_the_whole_text_in_linear_time(pattern: str, text: str, matches: bool) -> None:
    compiled = compile_java(pattern)
    assert compiled.is_linear
    assert compiled.matches(text) is matches


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"db\.(?!tmp).*", "db.a", True),
        (r"db\.(?!tmp).*", "db.tmp1", False),
        (r"(a|b)\1", "bb", True),
        (r"(?<x>a)\k<x>", "aa", True),
        (r"[0-9]++a", "12a", True),
        (r"(?!(a))b", "b", True),
        (r"a{2,2000}", "aaa", True),
    ],
)
def test_what_re2_does_not_know_matches_too_but_is_not_linear(pattern: str, text: str, matches: bool) -> None:
    compiled = compile_java(pattern)
    assert not compiled.is_linear
    assert compiled.matches(text) is matches


@pytest.mark.parametrize("pattern", [r"[a-z&&[^b]]", r"x[^\]&&a]"])
def test_an_intersection_of_classes_is_refused(pattern: str) -> None:
    with pytest.raises(re.error, match="intersections"):
        compile_java(pattern)
    assert compile_java(r"a&&b\[&&").matches("a&&b[&&")


def test_an_expression_that_does_not_compile() -> None:
    with pytest.raises(re.error):
        compile_java("[")
