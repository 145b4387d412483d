"""What a comparison finds of records that are missing, doubled or changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.checks.compare import Limits, Part
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.objects.clock import Clock
from frazil.connectors.objects.task import ObjectsSpec, run
from frazil.connectors.objects.verify import ObjectCheck, ObjectPlace, holds, object_place
from frazil.errors import UsageError
from frazil.pipeline.letters.deadletter import Coordinates
from tests.connectors.objects.samples import BY_TIME, FORMAT, STORAGE, FolderStore, sink_with
from tests.pipeline.kafka_rows import Row, chunk, chunks

KEY = ("t", 0)
HOUR = 3_600_000
ROWS = [Row(n, b'{"n":%d}' % n, HOUR * (n // 4)) for n in range(12)]


class Case:
    """Stores rows, changes what is there, and compares."""

    def __init__(self, folder: Path, *, rows: Sequence[Row] = ROWS, changes: dict[str, str] | None = None) -> None:
        self.store = FolderStore(str(folder))
        self.root = folder / "objects"
        self.rows = rows
        self.config = sink_with(changes or {})
        clock = Clock.of(self.config)
        if clock is not None:
            clock.advance(0, 5 * HOUR)
        spec = ObjectsSpec(self.config, self.store, {KEY: 0}, {KEY: 12}, {} if clock is None else {KEY: clock})
        self.result = run(chunks(rows), spec).partitions[KEY]

    def check(
        self, begin: int = 0, end: int = 12, *, dead: Iterable[Coordinates] = (), cut: bool = False
    ) -> RangeCheck:
        limits = Limits(end=end if cut else None)
        found = ObjectCheck(self.config, Part({KEY: begin}, {KEY: end}, frozenset(dead), limits), self.store)
        found.take(chunk([row for row in self.rows if begin <= row.offset < end]))
        (check,) = found.finish(lambda what, done, total: None)
        return check

    def file(self, part: str) -> Path:
        (found,) = [path for path in self.root.rglob("*") if part in path.name]
        return found


KINDS: dict[str, dict[str, str]] = {
    "plain": {},
    "gzip": {"s3.compression.type": "gzip"},
    "by time": {**BY_TIME},
    "by field": {"partitioner.class": STORAGE + "FieldPartitioner", "partition.field.name": "n"},
    "metadata": {"frazil.metadata.enable": "true"},
    "wall clock": {**BY_TIME, "timestamp.extractor": "Wallclock"},
    "no folder": {"frazil.topic.folder": "false"},
    "parquet": {"format.class": FORMAT + "parquet.ParquetFormat"},
    "avro": {"format.class": FORMAT + "avro.AvroFormat"},
    "parquet by time": {"format.class": FORMAT + "parquet.ParquetFormat", **BY_TIME},
}


def kind_of(folder: Path, kind: str) -> Case:
    return Case(folder, changes=KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_is_complete(tmp_path: Path, kind: str) -> None:
    found = kind_of(tmp_path, kind).check()
    assert (found.read, found.expected, found.stored, found.complete) == (12, 12, 12, True), found
    assert found.expected_sum == found.stored_sum is not None
    assert found.notes == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_that_is_lost(tmp_path: Path, kind: str) -> None:
    case = kind_of(tmp_path, kind)
    lost = sorted(case.root.rglob("*+*"), key=lambda path: path.name)[1]
    first = int(lost.name.split("+")[2].split(".")[0])
    lost.unlink()
    found = case.check()
    assert (found.missing[0], found.doubled, found.foreign) == (first, [], 0)
    assert len(found.missing) == 12 - found.stored


def test_lines_that_are_lost_changed_or_twice(tmp_path: Path) -> None:
    case = Case(tmp_path)
    path = case.file("+0000000003")
    path.write_bytes(b'{"n":3}\n{"n":99}\n{"n":5}\n{"n":5}\n')
    found = case.check()
    assert (found.missing, found.doubled, found.foreign, found.stored) == ([4], [5], 1, 11)
    assert found.expected_sum != found.stored_sum
    case.file("+0000000006").rename(case.root / "topics/t/partition=0/t+0+0000000005.json")
    assert case.check().complete is False


def _changed(path: Path, place: int, value: int) -> None:
    """Write a file with columns again, with another value in a row."""
    if path.suffix == ".avro":
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            rows: list[Any] = list(reader)
            schema: Any = reader.writer_schema
        rows[place]["n"] = value
        with path.open("wb") as file:
            fastavro.writer(file, schema, rows)
        return
    values = pq.read_table(path).column("n").to_pylist()
    values[place] = value
    pq.write_table(pa.table({"n": values}), path)


@pytest.mark.parametrize("kind", ["parquet", "avro"])
def test_rows_of_files_that_are_changed(tmp_path: Path, kind: str) -> None:
    case = kind_of(tmp_path, kind)
    _changed(case.file("+0000000003"), 1, 99)
    found = case.check()
    assert (found.missing, found.doubled, found.foreign, found.stored) == ([4], [], 1, 11)
    assert found.expected_sum != found.stored_sum


def test_a_column_that_is_lost(tmp_path: Path) -> None:
    rows = [Row(n, b'{"n":%d,"m":1}' % n) for n in range(12)]
    case = Case(tmp_path, rows=rows, changes=KINDS["parquet"])
    path = case.file("+0000000006")
    pq.write_table(pq.read_table(path).drop_columns(["m"]), path)
    assert case.check().missing == [6, 7, 8]


def test_rows_with_columns_of_a_schema_are_counted(tmp_path: Path) -> None:
    schema = '{"type":"struct","fields":[{"field":"d","type":"int32","name":"org.apache.kafka.connect.data.Date"}]}'
    rows = [Row(n, b'{"schema":%s,"payload":{"d":%d}}' % (schema.encode(), n)) for n in range(12)]
    converter = "org.apache.kafka.connect.json.JsonConverter"
    changes = {**KINDS["parquet"], "value.converter": converter, "value.converter.schemas.enable": "true"}
    found = Case(tmp_path, rows=rows, changes=changes).check()
    assert (found.stored, found.complete, found.expected_sum) == (12, True, None)
    assert found.notes == ["rows of files with columns of a schema are counted, not compared"]


def test_names_that_avro_does_not_have(tmp_path: Path) -> None:
    rows = [Row(n, b'{"a-b":%d}' % n) for n in range(12)]
    found = Case(tmp_path, rows=rows, changes=KINDS["avro"]).check()
    assert (found.stored, found.complete) == (12, True)
    assert found.notes == ["records with names that Avro does not have are counted, not compared"]


@pytest.mark.parametrize("kind", ["parquet", "avro"])
@given(
    values=st.lists(
        st.dictionaries(
            st.sampled_from(["a", "b", "value"]),
            st.recursive(
                st.one_of(
                    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(-9, 9), st.text(max_size=3)
                ),
                lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("pq"), inner, max_size=2),
                max_leaves=4,
            ),
            max_size=3,
        ),
        min_size=12,
        max_size=12,
    )
)
def test_whatever_records_have_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, kind: str, values: list[dict[str, Any]]
) -> None:
    rows = [Row(n, json.dumps(value).encode()) for n, value in enumerate(values)]
    case = Case(tmp_path_factory.mktemp("case"), rows=rows, changes=KINDS[kind])
    dead = {(letter.topic, letter.partition, letter.offset) for letter in case.result.letters}
    assert case.check(dead=dead).complete


def test_equal_records_are_one_as_good_as_the_other(tmp_path: Path) -> None:
    rows = [Row(n, b'{"n":1}', HOUR * (n % 3)) for n in range(12)]
    case = Case(tmp_path, rows=rows, changes=BY_TIME)
    assert case.check().complete
    assert case.check().doubled == []
    sorted(case.root.rglob("*+*"))[0].write_bytes(b"")
    assert len(case.check().missing) == 12 - case.check().stored > 0


def test_records_that_are_not_to_be_stored(tmp_path: Path) -> None:
    rows = [Row(0, b"{"), Row(1, None), Row(2, b"null"), *[Row(n, b'{"n":%d}' % n) for n in range(3, 12)]]
    case = Case(tmp_path, rows=rows, changes={"errors.tolerance": "all", "behavior.on.null.values": "ignore"})
    found = case.check(dead={("t", 0, 0), ("u", 0, 3)})
    assert (found.read, found.dead, found.skipped, found.stored, found.complete) == (12, 1, 2, 9, True)
    found = case.check()
    assert (found.missing, found.expected) == ([0], 10)
    assert "there is no dead letter for it" in found.notes[0]


def test_a_part_of_the_range(tmp_path: Path) -> None:
    case = Case(tmp_path)
    assert case.check(4, 12).complete
    assert case.check(4, 12).unknown == 4
    cut = case.check(0, 7, cut=True)
    assert (cut.stored, cut.unknown, cut.complete) == (7, 2, True)


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    for changes in (
        {"format.class": FORMAT + "bytearray.ByteArrayFormat"},
        {**BY_TIME, "timestamp.extractor": "Wallclock", "format.class": FORMAT + "parquet.ParquetFormat"},
    ):
        with pytest.raises(UsageError, match="Nothing was compared"):
            ObjectCheck(sink_with(changes), Part({KEY: 0}, {KEY: 12}), FolderStore(str(tmp_path)))


def test_names() -> None:
    config = sink_with({})
    name = "topics/t/partition=0/t+0+0000000003.json"
    assert object_place(name, config) == ObjectPlace(name, "topics/t/partition=0/", "t", 0, 3, "json")
    assert object_place("a+b+0+3.json.gz", config) == ObjectPlace("a+b+0+3.json.gz", "", "a+b", 0, 3, "json")
    name = "t+0+3.snappy.parquet"
    assert object_place(name, config) == ObjectPlace(name, "", "t", 0, 3, "parquet")
    for name in ("topics/_schemas/c.json", "t+0+3.keys.json", "t+0+3.keys.avro", "t+0+3.bin", "t+x+3.json"):
        assert object_place(name, config) is None


@pytest.mark.parametrize("before", ["plain", "gzip", "parquet", "avro"])
@pytest.mark.parametrize("after", ["plain", "gzip", "parquet", "zstd", "avro"])
def test_what_was_written_before_a_change_is_compared_too(tmp_path: Path, before: str, after: str) -> None:
    kinds = {**KINDS, "zstd": {**KINDS["parquet"], "parquet.codec": "zstd"}}
    case = Case(tmp_path, changes=kinds[before], rows=ROWS[:6])
    later = Case(tmp_path, changes=kinds[after], rows=ROWS[6:])
    later.rows = ROWS
    found = later.check()
    assert (found.stored, found.complete) == (12, True), found
    case.file("+0000000003").unlink()
    assert later.check().missing[0] == 3


def test_lines_that_no_column_can_hold_are_compared_after_a_change(tmp_path: Path) -> None:
    rows = [Row(n, b"%d" % n) for n in range(6)]
    Case(tmp_path, rows=rows)
    later = Case(tmp_path, changes=KINDS["parquet"], rows=ROWS[6:])
    later.rows = [*rows, *ROWS[6:]]
    assert later.check().complete


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"a": 1}, '{"a":1}'),
        ({"a": 1.0}, '{"a":1}'),
        ({"a": 0.1}, '{"a":0.1000000000000000055}'),
        ({"a": Decimal(2**64)}, '{"a":18446744073709551616}'),
        ({"a": "1"}, '{"a":1}'),
        ({"a": "2.50"}, '{"a":2.50}'),
        ({"a": '{"b":[true]}'}, '{"a":{"b":[true]}}'),
        ({"a": "x", "b": None}, '{"a":"x"}'),
        ({"a": "x"}, '{"a":"x","b":null,"c":{"d":[]}}'),
        ({"a": {"b": None, "c": 1}}, '{"a":{"c":1}}'),
        ({"a": [1, None]}, '{"a":[1,null]}'),
        ({"value": '{"a":{}}'}, '{"a":{}}'),
    ],
)
def test_rows_that_hold_a_record(row: dict[str, Any], text: str) -> None:
    assert holds(row, text.encode())


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"a": 1}, '{"a":2}'),
        ({"a": 1}, '{"a":"1"}'),
        ({"a": 1}, '{"a":true}'),
        ({"a": True}, '{"a":1}'),
        ({"a": 1.5}, '{"a":1}'),
        ({"a": 2**53}, '{"a":9007199254740993}'),
        ({"a": "x"}, '{"a":1}'),
        ({"a": "x"}, '{"a":"x","b":0}'),
        ({"a": "x", "b": 0}, '{"a":"x"}'),
        ({"a": None}, '{"a":{"b":0}}'),
        ({"a": [1]}, '{"a":[1,2]}'),
        ({"a": {"b": 1}}, '{"a":[1]}'),
        ({"value": '{"a":{}}'}, '{"a":[]}'),
    ],
)
def test_rows_that_do_not(row: dict[str, Any], text: str) -> None:
    assert not holds(row, text.encode())
