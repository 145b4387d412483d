from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.clients.kafka.produce import Outgoing
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.record_lines import parse_record, record_line
from tests.pipeline.letters.messages import message

DATA = (
    st.none()
    | st.binary()
    | st.text().map(str.encode)
    | st.dictionaries(st.text(), st.integers()).map(lambda value: json.dumps(value).encode())
)


@given(DATA, DATA, st.lists(st.tuples(st.text(), DATA), max_size=3), st.integers(0, 9), st.integers(0, 1 << 47))
def test_what_is_printed_is_read_as_the_same_record(
    value: bytes | None,
    key: bytes | None,
    headers: list[tuple[str, bytes | None]],
    partition: int,
    timestamp: int,
) -> None:
    record = message(value=value, key=key, headers=headers, partition=partition, timestamp=timestamp)
    line = record_line(record, {}, raw=True)
    assert b"\n" not in line
    assert parse_record(line) == Outgoing(value, key, tuple(headers), partition, timestamp)


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ('{"value": "a"}', Outgoing(b"a")),
        ('{"value": {"n": 1.50}}', Outgoing(b'{"n": 1.50}')),
        ('{"value": 12.0, "key": true}', Outgoing(b"12.0", b"true")),
        ('{"value": {"base64": "AP8="}}', Outgoing(b"\x00\xff")),
        (
            '{"value": null, "key": "k", "headers": {"h": "x", "n": null}}',
            Outgoing(None, b"k", (("h", b"x"), ("n", None))),
        ),
        (
            '{"value": "a", "partition": 3, "timestamp": "2026-11-29T10:30:00.5+01:00"}',
            Outgoing(b"a", None, (), 3, 1795944600500),
        ),
        ('{"value": "a", "timestamp": "1970-01-02"}', Outgoing(b"a", timestamp=86_400_000)),
    ],
)
def test_lines(line: str, record: Outgoing) -> None:
    assert parse_record(line.encode()) == record


def test_what_has_a_schema_is_encoded_and_a_tombstone_is_not() -> None:
    encoded = parse_record(b'{"value": {"n": 1}, "key": null}', lambda data: b"V" + data, lambda data: b"K" + data)
    assert encoded == Outgoing(b'V{"n": 1}')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{}", "it has no `value`; lines that are values themselves go with --values"),
        ('{"value": 1, "kye": 2}', "unknown field `kye`"),
        ("x", "it is no record as JSON"),
        ('{"value": {"base64": "!"}}', "base64 is no Base64"),
        ('{"value": 1, "partition": -2}', "-2 is no partition"),
        ('{"value": 1, "timestamp": "today"}', "today is no time in ISO 8601"),
    ],
)
def test_what_is_no_record_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ConversionError, match=reason):
        parse_record(line.encode())


def test_credentials_are_masked_unless_it_is_raw() -> None:
    record = message(value=b'{"token": "s3cret"}', key=b"k", headers=[("Cookie", b"s3cret")])
    assert b"s3cret" not in record_line(record, {}, raw=False)
    assert record_line(record, {}, raw=True).count(b"s3cret") == 2


def test_what_a_converter_reads_stands_in_the_place_of_the_bytes() -> None:
    line = record_line(message(value=b"\x00\x00\x00\x00\x01\x02"), {"value": b'{"n": 1}'}, raw=True)
    assert json.loads(line)["value"] == {"n": 1}
