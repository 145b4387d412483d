from __future__ import annotations

import pytest

from frazil.text.java_steps import steps_of_like, steps_of_regex


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        ("error", 1),
        (r"^\d+ (\w+)$", 1),
        (r"^(a|b)*$", 1),
        (r"\s+$", 2),
        (r"\d+-\d+", 2),
        (r"(\d+)\.(\d+)\.(\d+)\.(\d+)", 2),
        (r"(?:[a-z]+\.)+com", 2),
        (r"(1*a,b)+", 2),
        (r"^(\S+) \[(.*?)\] \"(.*?)\" (\d+)", 2),
        (".*error.*timeout.*", 3),
        (".*a.*a.*a.*b", 5),
        ("(?i)a.*B", 2),
        ("(?x) a + b", 2),
        ("(a|b)" * 200, 1),
        ("^(foo|fizz)+$", 1),
        ("(foo|fizz)+bar", 2),
        (r"^(?:GET|POST|PUT|PATCH)+ \S+$", 1),
        ("^(ab[0-9]+|abc)+$", 1),
    ],
)
def test_steps_grow_with_what_can_match_in_several_places(pattern: str, steps: int) -> None:
    assert steps_of_regex(pattern) == steps


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+b", "(a|a)*b", "(.*a){10}b", "((a+)+)+b", "(a{1,5}){1,50}b", "(a?){30}a{30}", "a?" * 10 + "a" * 10]
    + [
        r"(\w+\s?)*!",
        "(a*)*",
        "(foo|fo)+",
        r"(ab\w*|abc)+",
        "(((a1){0,20}){0,20})?c",
        "((([ab]){2,})+)?c",
        "(a|ab)" * 20 + "c",
    ]
    + ["(" * 400 + "a" + ")*" * 400, r"\012+"],
)
def test_what_repeats_in_several_ways_is_exponential(pattern: str) -> None:
    assert steps_of_regex(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "escape", "steps"),
    [("a%", "\\", 1), ("%a%", "\\", 1), ("%a%b", "\\", 2), ("%_%_", "\\", 2), ("%a%b%c", "\\", 3)]
    + [(r"\%a\%b\%%", "\\", 1), ("/%a/%%b%c", "/", 2), ("%a%a%a%a%b", "\\", 5)],
)
def test_each_percent_sign_before_something_adds_to_the_steps_of_like(pattern: str, escape: str, steps: int) -> None:
    assert steps_of_like(pattern, escape) == steps
