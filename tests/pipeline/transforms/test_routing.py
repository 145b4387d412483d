from __future__ import annotations

import pytest

from frazil.pipeline.transforms.record import StageError
from tests.pipeline.transforms.chains import applied, chain, text


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
def test_regex_router(regex: str, replacement: str, topic: str, expected: str) -> None:
    made = applied(chain(("RegexRouter", {"regex": regex, "replacement": replacement})), b"{}", topic=topic)

    assert made is not None
    assert made.topic == expected


def test_timestamp_router() -> None:
    made = applied(chain(("TimestampRouter", {})), b"{}")
    assert made is not None and made.topic == "t-20231114"

    keys = {"topic.format": "${timestamp}/${topic}", "timestamp.format": "yyyy/MM"}
    made = applied(chain(("TimestampRouter", keys)), b"{}")
    assert made is not None and made.topic == "2023/11/t"


def test_a_timestamp_out_of_the_calendar_is_an_error() -> None:
    with pytest.raises(StageError, match="the record's timestamp 999999999999999: the time is outside"):
        applied(chain(("TimestampRouter", {})), b"{}", timestamp=999_999_999_999_999)


def test_routers_do_not_read_values() -> None:
    made = applied(chain(("RegexRouter", {"regex": "t", "replacement": "u"})), b"not json")

    assert made is not None
    assert made.value == b"not json"


def test_filter() -> None:
    assert applied(chain(("Filter", {})), b"{}") is None


def test_headers() -> None:
    found = chain(
        ("InsertHeader", {"header": "new", "value.literal": "5"}),
        ("HeaderFrom$Value", {"fields": "a,none", "headers": "from,absent", "operation": "move"}),
        ("HeaderFrom$Value", {"fields": "b", "headers": "copy", "operation": "copy"}),
        ("DropHeaders", {"headers": "old,other"}),
    )

    made = applied(found, b'{"a":1,"b":2.0}', headers=["old", "kept", "old"])

    assert made is not None
    assert made.headers == ["kept", "new", "from", "absent", "copy"]
    assert text(made.value) == b'{"b":2.0}'


def test_a_tombstone_passes() -> None:
    made = applied(chain(("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "move"})), None)

    assert made is not None
    assert made.value is None
