from __future__ import annotations

import pytest
from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.letters.deadletter import PREFIX, RECORD_TIME, TABLE, DeadLetter
from frazil.pipeline.letters.letter import CLOSED, FLOOR, STATE, Closing, Letter, closing, read_letter
from frazil.pipeline.letters.ranges import Ranges
from tests.pipeline.letters.messages import Headers, context, marker, message


def read(found: Message) -> Letter:
    letter = read_letter(found)
    assert letter is not None
    return letter


def test_the_record_comes_back_as_it_was() -> None:
    """Also one that has been a dead letter before: the last context is that of this one."""
    own: Headers = [("trace", b"\x00"), ("trace", None), *context("older", ("old", 1, 2))]
    added = [*context(record=("t", 3, 7)), (RECORD_TIME, b"1684408953000"), (TABLE, b"a.b")]
    letter = read(message(9, value=b"\xff", key=b"k", headers=[*own, *added, ("proxy", b"x")]))
    assert (letter.position, letter.value, letter.key) == (("t-dlq", 0, 9), b"\xff", b"k")
    assert letter.headers == (*own, ("proxy", b"x"))
    assert letter.record == ("t", 3, 7)
    assert (letter.connector, letter.table) == ("c", "a.b")
    assert (letter.timestamp, letter.record_timestamp) == (1_700_000_000_000, 1_684_408_953_000)
    assert letter.size == 2


@pytest.mark.parametrize(
    ("path", "reason", "kind"),
    [
        ("info.size", "the number does not fit in 64 bits", "column info.size: the number does not fit in 64 bits"),
        (
            "count",
            'the text is not an integer for type int ("a: (b)")',
            "column count: the text is not an integer for type int",
        ),
        ("", "the value is not JSON: JSON is malformed (byte 17)", "the value is not JSON: JSON is malformed"),
        (
            "user",
            'not valid by the schema: "user \\" 7" is not of type "integer"',
            'column user: not valid by the schema: … is not of type "integer"',
        ),
        (
            "n",
            "not valid by the schema: -1.5e3 is less than the minimum of 0",
            "column n: not valid by the schema: … is less than the minimum of 0",
        ),
        ("table", "'a b' is not the name of a table: why", "column table: … is not the name of a table: why"),
    ],
)
def test_column_and_reason_are_found_in_the_message(path: str, reason: str, kind: str) -> None:
    written = DeadLetter("t", 0, 5, 0, None, None, (), path, reason)
    letter = read(message(headers=context(message=str(written))))
    assert letter.cause == (path, reason)
    assert letter.kind == kind


def test_kafka_connects_own_dead_letters_are_read() -> None:
    text = "Converting byte[] to Kafka Connect data failed due to serialization error: "
    letter = read(message(headers=context(message=text, task_id="0")))
    assert letter.cause == ("", text.strip())
    assert (letter.record, letter.table) == (("t", 0, 5), "")
    assert letter.record_timestamp == letter.timestamp  # Connect keeps the record's time


@pytest.mark.parametrize(
    "headers",
    [
        None,
        [("trace", b"1")],
        [(PREFIX + "topic", b"t")],
        context(record=("t", -1, 5)),
        [*context()[:2], (PREFIX + "offset", b"x")],
        [*context()[:2], (PREFIX + "offset", None)],
    ],
)
def test_without_headers_there_is_what_there_is(headers: Headers | None) -> None:
    letter = read(message(value=None, headers=headers))
    assert letter.record is None
    assert letter.value is None


@pytest.mark.parametrize("state", [b"replayed", b"dropped", b"later states"])
def test_a_marker_is_no_dead_letter(state: bytes) -> None:
    found = marker(9, "3,5-7", state)
    assert read_letter(found) is None
    assert closing(found) == Closing(Ranges.of([3, 5, 6, 7]))


def test_a_marker_that_cannot_be_read_closes_nothing() -> None:
    for closed in ("", "x", "5-3"):
        assert read_letter(marker(9, closed)) is None
        assert closing(marker(9, closed)) == Closing()


@pytest.mark.parametrize(
    ("floor", "expected"), [(b"7", 7), (b"12", 9), (b"-1", 0), (b"x", 0), (b"9" * 5000, 0), (b"", 0)]
)
def test_a_floor_is_never_above_its_marker(floor: bytes, expected: int) -> None:
    told: Headers = [(STATE, b"dropped"), (FLOOR, floor)]
    assert closing(message(9, value=None, headers=told)) == Closing(floor=expected)


def test_a_record_with_a_markers_headers_is_a_dead_letter() -> None:
    mine: Headers = [(STATE, b"replayed"), (CLOSED, b"0-5")]
    assert closing(message(9, value=b"x", headers=mine)) is None
    assert closing(message(9, value=None, headers=[*mine, *context()])) is None
    assert read(message(9, value=None, headers=[*mine, *context()])).headers == tuple(mine)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.one_of(st.none(), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=3)),
        ),
        max_size=30,
    )
)
def test_a_dead_letter_is_open_until_a_later_marker_of_its_partition_names_it(
    log: list[tuple[int, list[tuple[int, int]] | None]],
) -> None:
    """Each element is a message of a partition: a dead letter, or a marker that names some ranges."""
    messages: list[Message] = []
    expected: set[tuple[int, int]] = set()
    ends = {0: 0, 1: 0}
    for partition, named in log:
        offset = ends[partition]
        ends[partition] += 1
        if named is None:
            messages.append(message(offset, partition=partition, headers=context()))
            expected.add((partition, offset))
        else:
            text = str(Ranges((first, first + more) for first, more in named))
            messages.append(marker(offset, text, partition=partition))
            for first, more in named:
                expected -= {(partition, n) for n in range(first, first + more + 1) if n < offset}

    closed: dict[tuple[str, int], Ranges] = {}
    for each in messages:
        key = "t-dlq", each.partition() or 0
        named_by = closing(each)
        closed[key] = closed.get(key, Ranges()) | (named_by.closed if named_by is not None else Ranges())

    letters = [letter for letter in map(read_letter, messages) if letter is not None]
    assert {
        (letter.partition, letter.offset)
        for letter in letters
        if letter.offset not in closed.get(("t-dlq", letter.partition), Ranges())
    } == expected
