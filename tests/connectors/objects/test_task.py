"""What tasks store of local rows."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.objects import held
from frazil.connectors.objects import partition as partitions
from frazil.connectors.objects import task as tasks
from frazil.connectors.objects.clock import Clock
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.results import ObjectsResult, PartitionResult
from frazil.connectors.objects.task import ObjectsSpec, run
from frazil.connectors.objects.verify import FileRows
from tests.connectors.objects.samples import BY_TIME, FORMAT, STORAGE, FolderStore, sink_with
from tests.pipeline.kafka_rows import Row, chunks

KEY = ("t", 0)
JSON_KEYS = {"store.kafka.keys": "true", "keys.format.class": FORMAT + "json.JsonFormat"}
JSON_HEADERS = {"store.kafka.headers": "true", "headers.format.class": FORMAT + "json.JsonFormat"}
TOLERANT = {"errors.tolerance": "all"}


class Disk:
    """Runs tasks against a folder."""

    def __init__(self, folder: Path, **changes: str) -> None:
        self.store = FolderStore(str(folder))
        self.config: ObjectSinkConfig = sink_with({name.replace("__", "."): value for name, value in changes.items()})

    def run_all(self, rows: Sequence[Row], *, at_once: int = 1000, **spec: Any) -> ObjectsResult:
        keys = dict.fromkeys((row.topic, row.partition) for row in rows)
        ends = {key: max(row.offset for row in rows if (row.topic, row.partition) == key) + 1 for key in keys}
        whole = ObjectsSpec(self.config, self.store, {}, ends)
        parts = [part for i in range(0, len(rows), at_once) for part in chunks(rows[i : i + at_once])]
        result: ObjectsResult = pickle.loads(pickle.dumps(run(parts, replace(whole, **spec))))  # noqa: S301
        return result

    def run(self, rows: Sequence[Row], **spec: Any) -> PartitionResult:
        return self.run_all(rows, **spec).partitions[KEY]

    def lines(self) -> dict[str, list[bytes]]:
        return {name: data.splitlines() for name, data in sorted(self.store.objects().items())}


def numbers(count: int, first: int = 0) -> list[Row]:
    return [Row(first + i, b'{"n":%d}' % (first + i)) for i in range(count)]


def test_complete_objects_are_stored_and_the_rest_is_read_again(tmp_path: Path) -> None:
    disk = Disk(tmp_path, filename__offset__zero__pad__width="2")
    found = disk.run(numbers(10))
    assert disk.lines() == {
        f"topics/t/partition=0/t+0+{first:02}.json": [b'{"n":%d}' % n for n in range(first, first + 3)]
        for first in (0, 3, 6)
    }
    assert (found.position, found.read, found.open_count) == (9, 9, 1)
    assert [(each.first, each.last, each.count, each.size) for each in found.objects] == [
        (0, 2, 3, 24),
        (3, 5, 3, 24),
        (6, 8, 3, 24),
    ]


def test_the_newest_record_is_one_that_is_stored(tmp_path: Path) -> None:
    rows = [Row(n, b"{}", stamp=1000 + time) for n, time in enumerate((5, 9, 7, 20, 1, 2, 99))]
    assert Disk(tmp_path, flush__size="3").run(rows).newest == 1020


def test_nothing_is_stored_of_what_is_open(tmp_path: Path) -> None:
    disk = Disk(tmp_path, flush__size="10")
    found = disk.run(numbers(9))
    assert (found.position, found.read, found.open_count, disk.lines()) == (0, 0, 9, {})


def test_several_partitions_and_topics(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    rows = [Row(i, b"1", partition=p, topic=t) for t in ("a", "b") for p in (0, 1) for i in range(5, 9)]
    found = disk.run_all(rows, at_once=3)
    assert {key: each.position for key, each in found.partitions.items()} == {
        (t, p): 8 for t in ("a", "b") for p in (0, 1)
    }
    assert len(disk.lines()) == 4


def test_compression(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **{"s3.compression.type": "gzip"})
    disk.run(numbers(3))
    ((name, data),) = disk.store.objects().items()
    assert name.endswith(".json.gz")
    assert gzip.decompress(data).splitlines() == [b'{"n":0}', b'{"n":1}', b'{"n":2}']


def test_bytes_have_the_separator_behind_each_record(tmp_path: Path) -> None:
    bytes_ = {
        "format.class": FORMAT + "bytearray.ByteArrayFormat",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "format.bytearray.separator": "||",
    }
    disk = Disk(tmp_path, **bytes_)
    disk.run([Row(i, value) for i, value in enumerate([b"\x00\xff", b"", b"\n"])])
    assert list(disk.store.objects().values()) == [b"\x00\xff||||\n||"]


SCHEMA = {
    "type": "struct",
    "name": "R",
    "version": 1,
    "fields": [
        {"field": "d", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
        {"field": "s", "type": "string", "optional": True},
    ],
}


def enveloped(payload: object, schema: object = SCHEMA) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}).encode()


WITH_SCHEMAS = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
}


@pytest.mark.parametrize(
    ("decimals", "line"), [("BASE64", b'{"d": "AJw=", "s": "x"}'), ("NUMERIC", b'{"d":1.56,"s":"x"}')]
)
def test_payloads_without_their_envelope(tmp_path: Path, decimals: str, line: bytes) -> None:
    disk = Disk(tmp_path, **WITH_SCHEMAS, **{"json.decimal.format": decimals, "flush.size": "1"})
    disk.run([Row(0, enveloped({"d": "AJw=", "s": "x"}))])
    ((found,),) = disk.lines().values()
    assert json.loads(found) == json.loads(line)


def test_values_without_an_envelope_are_dead_letters(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **WITH_SCHEMAS, **TOLERANT, **{"flush.size": "1"})
    found = disk.run([Row(0, b'{"a":1}'), Row(1, enveloped({"d": "AJw="}))])
    assert [letter.offset for letter in found.letters] == [0]
    assert "requires the fields schema and payload" in found.letters[0].reason
    assert (found.position, found.stored, found.dead) == (2, {"t": 1}, {"t": 1})


def test_parquet_with_schemas(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **WITH_SCHEMAS, **{"format.class": FORMAT + "parquet.ParquetFormat"})
    disk.run([Row(i, enveloped({"d": "AJw=", "s": str(i)})) for i in range(3)])
    (path,) = Path(disk.store.folder).rglob("*.snappy.parquet")
    assert [(str(row["d"]), row["s"]) for row in pq.read_table(path).to_pylist()] == [
        ("1.56", str(i)) for i in range(3)
    ]


def test_logical_types_and_maps_of_schemas(tmp_path: Path) -> None:
    connect = "org.apache.kafka.connect.data."
    schema = {
        "type": "struct",
        "fields": [
            {"field": "at", "type": "int64", "name": connect + "Timestamp"},
            {"field": "day", "type": "int32", "name": connect + "Date"},
            {"field": "time", "type": "int32", "name": connect + "Time"},
            {"field": "m", "type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}},
        ],
    }
    payload = {"at": 4000000000, "day": 10000, "time": 14400000, "m": [[1, 12], [2, 15]]}
    disk = Disk(tmp_path, **WITH_SCHEMAS, **{"format.class": FORMAT + "parquet.ParquetFormat", "flush.size": "1"})
    disk.run([Row(0, enveloped(payload, schema))])
    (path,) = Path(disk.store.folder).rglob("*.snappy.parquet")
    assert pq.read_table(path).to_pylist() == [
        {
            "at": dt.datetime(1970, 2, 16, 7, 6, 40, tzinfo=dt.UTC),
            "day": dt.date(1997, 5, 19),
            "time": dt.time(4),
            "m": [(1, 12), (2, 15)],
        }
    ]


def test_records_without_a_schema_stay_what_they_are(tmp_path: Path) -> None:
    disk = Disk(tmp_path, flush__size="1")
    disk.run([Row(0, b'{"a":"","b":null}')])
    assert list(disk.lines().values()) == [[b'{"a":"","b":null}']]


def test_an_object_that_is_there_already_is_replaced(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    disk.store.put("topics/t/partition=0/t+0+0000000000.json", io.BytesIO(b"part"), 4, ())
    disk.run(numbers(6))
    assert [len(lines) for lines in disk.lines().values()] == [3, 3]


def test_another_schema_begins_another_object(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **WITH_SCHEMAS, **{"flush.size": "100"})
    other = {**SCHEMA, "version": 2}
    found = disk.run([Row(i, enveloped({"d": "AJw="}, other if i % 2 else SCHEMA)) for i in range(4)])
    assert [(each.first, each.count) for each in found.objects] == [(0, 1), (1, 1), (2, 1)]
    assert found.position == 3


def test_compatibility_takes_schemas_with_a_version(tmp_path: Path) -> None:
    plain = {key: value for key, value in SCHEMA.items() if key != "version"}
    rows = [Row(0, enveloped({"d": "AJw="}, plain)), Row(1, enveloped({"d": "AJw="}))]
    backward = {**WITH_SCHEMAS, "schema.compatibility": "BACKWARD", "flush.size": "1"}
    failed = Disk(tmp_path / "fails", **backward).run(rows)
    assert (failed.objects, failed.position) == ([], 0)
    assert failed.bad is not None
    assert failed.bad.reason == "Schema version required for BACKWARD compatibility"
    tolerant = Disk(tmp_path / "goes on", **backward, **TOLERANT).run(rows)
    assert [letter.offset for letter in tolerant.letters] == [0]
    assert [each.first for each in tolerant.objects] == [1]


def test_whoever_gets_the_partition_goes_on_behind_the_last_object(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    before = disk.run(numbers(7))
    assert ([each.first for each in before.objects], before.position) == ([0, 3], 6)
    after = disk.run(numbers(12), begin={KEY: before.position})
    assert ([each.first for each in after.objects], after.position) == ([6, 9], 12)
    assert [len(lines) for lines in disk.lines().values()] == [3, 3, 3, 3]


def too_large_at(places: Sequence[int], count: int) -> list[Row]:
    """Records of which some have a number that their own schema does not hold."""
    schema = {"type": "struct", "fields": [{"field": "i", "type": "int32"}]}
    return [Row(i, enveloped({"i": 2**31 if i in places else i}, schema)) for i in range(count)]


PARQUET = {"format.class": FORMAT + "parquet.ParquetFormat"}


def test_records_that_no_file_can_have_are_left_out_by_the_same_run(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **WITH_SCHEMAS, **TOLERANT, **PARQUET, **{"flush.size": "2"})
    found = disk.run(too_large_at([3], 5))
    assert (found.position, found.refused, found.stored, found.dead) == (5, {}, {"t": 4}, {"t": 1})
    assert [(each.first, each.last, each.count) for each in found.objects] == [(0, 1, 2), (2, 4, 2)]
    assert [letter.offset for letter in found.letters] == [3]


def test_objects_too_large_to_be_held_are_begun_again_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "MAX_HELD", 0)
    disk = Disk(tmp_path, **WITH_SCHEMAS, **TOLERANT, **PARQUET, **{"flush.size": "2"})
    rows = too_large_at([3], 5)
    first = disk.run(rows, at_once=1)
    assert (first.position, list(first.refused)) == (2, [3])
    assert [each.first for each in first.objects] == [0]
    second = disk.run(rows, at_once=1, begin={KEY: 2}, refused={KEY: first.refused})
    assert (second.position, second.refused, second.stored, second.dead) == (5, {}, {"t": 2}, {"t": 1})
    assert [(each.first, each.last, each.count) for each in second.objects] == [(2, 4, 2)]
    assert second.letters[0].offset == 3


@given(
    values=st.lists(st.sampled_from([b"1", b"1.5", b"9007199254740993", b'"x"', b"{", None]), min_size=1, max_size=40),
    flush=st.integers(1, 5),
    chunk=st.integers(1, 20),
)
def test_a_run_that_leaves_refused_records_out_stores_what_a_run_for_each_of_them_stores(
    values: list[bytes | None], flush: int, chunk: int
) -> None:
    rows = [
        Row(n, value if value is None or value == b"{" else b'{"n":%d,"a":%s}' % (n, value))
        for n, value in enumerate(values)
    ]
    changes = {**TOLERANT, **PARQUET, "flush.size": str(flush), "behavior.on.null.values": "ignore"}
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        at_once = Disk(Path(folder, "at once"), **changes)
        found = at_once.run(rows, at_once=chunk)
        assert not found.refused
        patched.setattr(held.HeldRows, "reach", lambda *_: False)
        disk, parts = Disk(Path(folder, "by runs"), **changes), list[PartitionResult]()
        position, refused, letters = 0, dict[int, str](), set[int]()
        while not parts or parts[-1].refused:
            parts.append(
                disk.run(rows, at_once=chunk, begin={KEY: position}, end={KEY: len(rows)}, refused={KEY: refused})
            )
            position = parts[-1].position
            refused |= parts[-1].refused
            letters |= {letter.offset for letter in parts[-1].letters}
        assert at_once.store.objects() == disk.store.objects()
    for name in ("stored", "dead", "skipped"):
        assert getattr(found, name).total() == sum(getattr(part, name).total() for part in parts), name
    assert (found.position, found.open_count) == (position, parts[-1].open_count)
    assert [letter.offset for letter in found.letters] == sorted(letters)


def test_ignored_tombstones_are_reported_where_a_topic_is_named(tmp_path: Path) -> None:
    rows = [Row(0, None), *numbers(3, 1), Row(4, b"null")]
    ignore = {"behavior.on.null.values": "ignore", **TOLERANT}
    named = Disk(tmp_path / "named", **ignore, **{"errors.deadletterqueue.topic.name": "d"}).run(rows)
    assert [(letter.offset, letter.reason) for letter in named.letters] == [
        (n, "Skipping null value record.") for n in (0, 4)
    ]
    assert (named.position, named.dead, named.skipped.total()) == (5, {"t": 2}, 0)
    quiet = Disk(tmp_path / "quiet", **ignore).run(rows)
    assert (quiet.letters, quiet.skipped, quiet.position, quiet.read) == ([], {"tombstone": 2}, 5, 5)
    assert [each.first for each in quiet.objects] == [1]


def test_tombstones_are_stored_by_their_keys(tmp_path: Path) -> None:
    changes = {"behavior.on.null.values": "write", "tombstone.encoded.partition": "TOMBSTONE_PARTITION", **JSON_KEYS}
    disk = Disk(tmp_path, **changes)
    disk.run([Row(i, None, key=b"key%d" % i) for i in range(3)])
    assert disk.lines() == {"topics/t/TOMBSTONE_PARTITION/t+0+0000000000.keys.json": [b'"key0"', b'"key1"', b'"key2"']}


def test_tombstones_stop_a_connector_that_tolerates_bad_records(tmp_path: Path) -> None:
    found = Disk(tmp_path, **TOLERANT).run([*numbers(4), Row(4, None), *numbers(9, 5)])
    assert found.bad is not None
    assert found.bad.reason == "Null valued records are not writeable with current behavior.on.null.values 'settings."
    assert (found.bad.offset, found.position, found.read) == (4, 3, 3)


def test_keys_and_headers_stay_beside_their_values(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **TOLERANT, **JSON_KEYS, **JSON_HEADERS)
    header = (("h", b"x"),)
    rows = [Row(i, b"%d" % i, key=None if i == 1 else b"k%d" % i, headers=() if i == 2 else header) for i in range(5)]
    found = disk.run(rows)
    assert [(letter.offset, letter.reason[:31]) for letter in found.letters] == [
        (1, "Key cannot be null for SinkReco"),
        (2, "Headers cannot be null for Sink"),
    ]
    name = "topics/t/partition=0/t+0+0000000000"
    assert disk.lines() == {
        f"{name}.headers.json": [b'{"headers":[{"key":"h","value":"x"}]}'] * 3,
        f"{name}.json": [b"0", b"3", b"4"],
        f"{name}.keys.json": [b'"k0"', b'"k3"', b'"k4"'],
    }


def test_a_bad_record_ends_a_run_behind_what_is_complete(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    found = disk.run([*numbers(4), Row(4, b"{"), *numbers(9, 5)])
    assert found.bad is not None
    assert (found.bad.offset, found.position, len(disk.lines())) == (4, 3, 1)
    alone = Disk(tmp_path / "alone").run([*numbers(3), Row(3, b"{")])
    assert (alone.position, alone.read) == (3, 3)


def test_dead_letters_change_nothing_for_their_neighbours(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **TOLERANT)
    rows = [Row(i, b"{" if i % 2 else b'{"n":%d}' % i, key=b"k", headers=(("h", None),)) for i in range(8)]
    found = disk.run(rows, at_once=2)
    assert [letter.coordinates for letter in found.letters] == [("t", 0, i) for i in (1, 3, 5, 7)]
    assert (found.letters[0].key, found.letters[0].value, found.letters[0].headers) == (b"k", b"{", (("h", None),))
    assert [(each.first, each.last) for each in found.objects] == [(0, 4)]
    assert (found.position, found.dead, found.stored) == (6, {"t": 3}, {"t": 3})
    again = disk.run(rows, letters={KEY: frozenset({1, 3, 5, 7})})
    assert (again.letters, again.dead) == ([], {"t": 3})


def test_too_many_dead_letters_end_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "MAX_DEAD_BYTES", 1200)
    disk = Disk(tmp_path, **TOLERANT)
    rows = [Row(0), *(Row(i, b"{") for i in range(1, 8))]
    position, written, rounds = 0, frozenset[int](), 0
    while True:
        found = disk.run(rows, begin={KEY: position}, letters={KEY: written})
        assert len(found.letters) <= 2
        written |= {letter.offset for letter in found.letters}
        rounds += 1
        if not found.overflow:
            break
    assert (rounds, written, found.position) == (4, frozenset(range(1, 8)), 0)


def test_a_schedule_stores_what_is_open(tmp_path: Path) -> None:
    disk = Disk(tmp_path, **{"rotate.schedule.interval.ms": "600000", "timezone": "UTC", "flush.size": "100"})
    clock = Clock.of(disk.config)
    assert clock is not None
    clock.advance(0, 60_000)
    clock.advance(3, 720_000)
    found = disk.run(numbers(3), clocks={KEY: clock})
    assert (found.position, [(each.first, each.count) for each in found.objects]) == (3, [(0, 3)])


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_a_schedule_cuts_once_where_a_replay_reads_on(tmp_path: Path, chunk: int) -> None:
    disk = Disk(tmp_path, **{"rotate.schedule.interval.ms": "1000", "timezone": "UTC", "flush.size": "100"})
    clock = Clock.of(disk.config)
    assert clock is not None
    for offset, now in ((0, 100), (3, 1100), (7, 2200)):
        clock.advance(offset, now)
    found = disk.run_all([Row(n, b"1") for n in (0, 1, 2, 5, 8, 9, 11)], at_once=chunk, clocks={KEY: clock})
    assert [(each.first, each.count) for each in found.partitions[KEY].objects] == [(0, 3), (5, 1)]
    assert found.partitions[KEY].position == 8


def test_renamed_topics_keep_the_name_that_was_read_in_the_file(tmp_path: Path) -> None:
    route = {
        "transforms": "r",
        "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.r.regex": ".*",
        "transforms.r.replacement": "new",
    }
    disk = Disk(tmp_path, **route)
    found = disk.run(numbers(3))
    assert list(disk.lines()) == ["topics/new/partition=0/t+0+0000000000.json"]
    assert found.stored == {"new": 3}


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MAX_MEMORY", 100)
    disk = Disk(tmp_path, **{"partitioner.class": STORAGE + "FieldPartitioner", "partition.field.name": "f"})
    rows = [Row(i, json.dumps({"f": i % 5, "x": "y" * 50}).encode()) for i in range(300)]
    disk.config = replace(disk.config, rotation=replace(disk.config.rotation, flush_size=300))
    disk.run(rows, at_once=7)
    assert [len(lines) for lines in disk.lines().values()] == [60] * 5


CHANGES: list[dict[str, str]] = [
    {},
    {"s3.compression.type": "gzip"},
    {"format.class": FORMAT + "parquet.ParquetFormat"},
    {**BY_TIME, "rotate.interval.ms": "5000", "path.format": "ss", "partition.duration.ms": "2000"},
    {**BY_TIME, "rotate.interval.ms": "5000", "rotate.file.on.partition.change": "false", "path.format": "ss"},
    {"partitioner.class": STORAGE + "FieldPartitioner", "partition.field.name": "f", "frazil.rotate.bytes": "60"},
    {"behavior.on.null.values": "write", **JSON_KEYS},
    {"rotate.schedule.interval.ms": "3000", "timezone": "UTC"},
    {**BY_TIME, "timestamp.extractor": "Wallclock", "rotate.interval.ms": "4000", "path.format": "ss"},
]
VALUE = st.sampled_from([b'{"f":1}', b'{"f":2,"x":"yyyy"}', b'{"f":1,"x":3}', b"{", b"7"])


@given(
    st.sampled_from(CHANGES),
    st.integers(1, 12),
    st.lists(st.tuples(VALUE | st.none(), st.integers(0, 20), st.integers(1, 2)), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3000), st.booleans(), st.integers(1, 9)), max_size=12),
)
def test_whatever_is_killed_objects_and_contents_are_those_of_an_undisturbed_run(
    changes: dict[str, str],
    flush: int,
    values: list[tuple[bytes | None, int, int]],
    steps: list[tuple[int, int, bool, int]],
) -> None:
    """A run that is killed has stored any part of its objects, and not its position."""
    rows = []
    offset = 0
    for value, second, gap in values:
        rows.append(Row(offset, value, second * 1000, b"k"))
        offset += gap
    quiet = {"behavior.on.null.values": "ignore"} | changes | TOLERANT | {"flush.size": str(flush)}
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        disturbed = Disk(Path(one), **quiet)
        notes = _replay(disturbed, rows, steps, offset)
        calm = Disk(Path(other), **quiet)
        for end, now in notes:
            _go(calm, rows, end, now)
        assert disturbed.store.objects() == calm.store.objects()


def _replay(
    disk: Disk, rows: Sequence[Row], steps: Sequence[tuple[int, int, bool, int]], last: int
) -> list[tuple[int, int]]:
    """Runs with kills; the ends and times of those that were not killed."""
    state: dict[str, Any] = {}
    end = now = 0
    notes = []
    for more, wait, killed, chunk in [*steps, (last, 60_000, False, 1000)]:
        end, now = min(end + more, last), now + wait
        _go(disk, rows, end, now, state, killed=killed, chunk=chunk)
        notes.append((end, now))
    return notes


def _go(
    disk: Disk,
    rows: Sequence[Row],
    end: int,
    now: int,
    state: dict[str, Any] | None = None,
    *,
    killed: bool = False,
    chunk: int = 1000,
) -> None:
    """One run up to an end. Position and clock are what a consumer group would hold, on `disk` unless given."""
    held = disk.__dict__.setdefault("held", {}) if state is None else state
    position = held.get("position", 0)
    clock = Clock.of(disk.config, held.get("ticks", ()))
    if clock is not None:
        clock.advance(max(end, position), now)
        held["ticks"] = tuple(clock.ticks)
    here = [row for row in rows if position <= row.offset < end]
    refused: dict[int, str] = {}
    while here:
        clocks = {} if clock is None else {KEY: clock}
        found = disk.run(
            here, at_once=chunk, begin={KEY: position}, end={KEY: end}, clocks=clocks, refused={KEY: refused}
        )
        if not found.refused:
            break
        refused |= found.refused
    else:
        return
    if killed:
        return
    held["position"] = found.position
    if clock is not None:
        clock.forget(found.position)
        held["ticks"] = tuple(clock.ticks)


def test_records_that_are_not_valid_are_counted_below_the_position(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    disk = Disk(tmp_path, errors__tolerance="all", **{"frazil.schema.file": str(file)})
    assert disk.config.json_schema is not None
    schema = replace(disk.config.json_schema, text=b'{"properties":{"n":{"type":"integer"}}}')
    disk.config = replace(disk.config, json_schema=schema)
    rows = [Row(0, b'{"n":0}'), Row(1, b'{"n":"x"}'), Row(2, b"{"), *numbers(2, 3), Row(5, b'{"n":1.5}')]
    found = disk.run(rows)
    assert (found.position, found.invalid, found.dead.total()) == (6, 2, 3)
    assert found.validation_s > 0
    assert [(letter.path, letter.origin) for letter in found.letters] == [
        ("n", ("TASK_PUT", "frazil.JsonSchema")),
        ("", ("VALUE_CONVERTER", "org.apache.kafka.connect.json.JsonConverter")),
        ("n", ("TASK_PUT", "frazil.JsonSchema")),
    ]
    again = disk.run(rows, letters={KEY: frozenset({0, 1})})
    assert (again.position, again.dead.total(), [letter.offset for letter in again.letters]) == (3, 3, [2, 5])


@pytest.mark.parametrize("format_", ["parquet.ParquetFormat", "avro.AvroFormat"])
@pytest.mark.parametrize("bad", [b'{"":1}', b'{"a":1,"":null}', b'{ "" :"x","a":2}'])
def test_a_record_with_an_empty_name_is_a_dead_letter_alone(tmp_path: Path, format_: str, bad: bytes) -> None:
    disk = Disk(tmp_path, format__class=FORMAT + format_, flush__size="3", **TOLERANT)
    good = [b'{"a":1,"s":""}', b'{"a":2,"o":{"":3},"s\\"":"x"}', b'{"a":3,"s":"\\"\\":"}']
    values = [good[0], bad, good[1], bad, good[2]]
    found = disk.run([Row(offset, value) for offset, value in enumerate(values)])
    assert [(letter.offset, letter.reason) for letter in found.letters] == [
        (offset, "a member has an empty name, which no column can have") for offset in (1, 3)
    ]
    assert (found.position, found.stored.total(), found.refused) == (5, 3, {})
    (data,) = disk.store.objects().values()
    rows = list(FileRows(data, "avro" if "avro" in format_ else "parquet").rows())
    assert [(row["a"], row["s"], row["o"]) for row in rows] == [(1, "", None), (2, None, '{"":3}'), (3, '"":', None)]


def test_a_record_with_an_empty_name_is_json_as_any_other(tmp_path: Path) -> None:
    disk = Disk(tmp_path, flush__size="1")
    disk.run([Row(0, b'{"":1}')])
    assert list(disk.store.objects().values()) == [b'{"":1}\n']
