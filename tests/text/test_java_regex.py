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


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"[a-z&&[^b]]", "intersections"),
        (r"x[^\]&&a]", "intersections"),
        (r"[a[b]]", "inside of others"),
        (r"[[:alpha:]]", "inside of others"),
        *[("a" + times, "illegal repetition") for times in ("{", "{}", "{x}", "{,3}", "{1", "{1,", "{1,2,3}", "{3,2}")],
        *[(f"a{{{times}}}", "illegal repetition") for times in ("100000000", "1,100000000", "01", "9" * 5000)],
        (r"(?<n>a)(?<n>b)", "<n> is already defined"),
        *[(group, "unknown kind of group") for group in ("(?P<n>a)", "(?<1a>a)", "(?#c)", "(?a)a", "(?U)a", "(?u)a")],
        (r"\C", "illegal escape"),
        ("(" * 5_000 + ")" * 5_000 + r"\1", "too large"),
        ("[", "unterminated"),
    ],
)
def test_what_java_refuses_or_reads_in_another_way_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(re.error, match=reason):
        compile_java(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a&&b\[&&", "a&&b[&&"),
        (r"a{99999999}|b", "b"),
        (r"a{0,1}", "a"),
        (r"a{1,}b{0}", "aa"),
        (r"\Q{[&&(?P\E\{[{x\[]\p{L}", "{[&&(?P{{a"),
        (r"(?i:a)(?-i)(?<n>b)", "Ab"),
    ],
)
def test_what_is_written_for_itself_or_in_the_limits_matches(pattern: str, text: str) -> None:
    assert compile_java(pattern).matches(text)
