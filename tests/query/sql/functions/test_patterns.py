from __future__ import annotations

import pytest

from frazil.errors import QueryError
from frazil.query.sql.functions.patterns import joda, mysql


@pytest.mark.parametrize(
    ("pattern", "zone", "wanted"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", "UTC", "%Y-%m-%dT%H:%M:%S.%g"),
        ("h 'o''clock' a", "UTC", "%-I o'clock %p"),
        ("100%", "UTC", "100%%"),
        ("HHZ", "UTC", "%H+0000"),
        ("HHZZ", "+05:30", "%H+05:30"),
        ("HH ZZZ", "Europe/Vienna", "%H Europe/Vienna"),
    ],
)
def test_jodas_patterns(pattern: str, zone: str, wanted: str) -> None:
    assert joda(pattern, zone) == wanted


def test_mysqls_patterns() -> None:
    assert mysql("%Y-%m-%d %H:%i:%s %%", "UTC") == "%Y-%m-%d %H:%M:%S %%"


@pytest.mark.parametrize(("pattern", "zone"), [("G", "UTC"), ("SS", "UTC"), ("yyy", "UTC"), ("Z", "Europe/Vienna")])
def test_letters_without_a_counterpart_are_refused(pattern: str, zone: str) -> None:
    with pytest.raises(QueryError, match="does not answer"):
        joda(pattern, zone)


def test_an_unknown_letter_of_mysql_is_refused() -> None:
    with pytest.raises(QueryError, match="%D in the pattern"):
        mysql("%D", "UTC")
