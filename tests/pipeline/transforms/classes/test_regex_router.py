from __future__ import annotations

import pytest

from tests.pipeline.transforms.chains import applied, chain


@pytest.mark.parametrize(
    ("regex", "replacement", "topic", "expected"),
    [
        ("(.*)-(\\d+)", "$2_$1\\$", "a-5", "5_a$"),
        ("a|ab", "x", "ab", "xb"),
        ("(a)", "$12", "a", "a2"),
        ("(?<n>a)b", "${n}", "ab", "a"),
        ("b", "x", "ab", "ab"),
    ],
)
def test_a_topic_is_renamed(regex: str, replacement: str, topic: str, expected: str) -> None:
    made = applied(chain(("RegexRouter", {"regex": regex, "replacement": replacement})), b"{}", topic=topic)

    assert made is not None
    assert made.topic == expected


def test_values_are_not_read() -> None:
    made = applied(chain(("RegexRouter", {"regex": "t", "replacement": "u"})), b"not json")

    assert made is not None
    assert made.value == b"not json"
