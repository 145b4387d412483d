"""Terms of `partition-by`."""

from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.creation import PartitionTerm, partition_terms, split_terms


def test_terms_are_split_outside_parentheses() -> None:
    assert split_terms("bucket(id, 4), type") == ["bucket(id, 4)", "type"]
    assert split_terms(" ,a, ") == ["a"]
    assert split_terms("") == []


def test_each_transform_has_a_term() -> None:
    text = "year(ts1), month(ts2), day(ts3), hour(ts4), bucket(i, 4), truncate(s, 10), s"
    assert partition_terms(text) == (
        PartitionTerm("year", "ts1"),
        PartitionTerm("month", "ts2"),
        PartitionTerm("day", "ts3"),
        PartitionTerm("hour", "ts4"),
        PartitionTerm("bucket", "i", 4),
        PartitionTerm("truncate", "s", 10),
        PartitionTerm("identity", "s"),
    )


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("identity(bucket)", PartitionTerm("identity", "bucket")),
        ("DAY(ts)", PartitionTerm("day", "ts")),
        ("days( a.b )", PartitionTerm("day", "a.b")),
        ("Hours(ts)", PartitionTerm("hour", "ts")),
        ("requestHeader", PartitionTerm("identity", "requestHeader")),
    ],
)
def test_names_of_transforms_are_in_any_case(text: str, term: PartitionTerm) -> None:
    assert partition_terms(text) == (term,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("week(ts)", "there is no transform week"),
        ("bucket(id)", "bucket(id) is not written bucket(column, number)"),
        ("bucket(4, id)", "bucket(4, id) is not written bucket(column, number)"),
        ("truncate(s, 0)", "truncate(column, number)"),
        ("bucket(id, ४)", "bucket(column, number)"),
        ("day(ts, 4)", "day takes a column and nothing else"),
        ("day(ts", "day(ts is not written transform(column)"),
        ("day()", "is not written transform(column)"),
    ],
)
def test_what_means_nothing_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="column|transform") as caught:
        partition_terms(text)
    assert reason in str(caught.value)
