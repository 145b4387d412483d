"""Commits of files and offsets to Delta tables, in a folder and in the real store."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from frazil.clients.object_store import ObjectStoreConfig
from frazil.clients.objects import ObjectStore
from frazil.connectors.objects.config.delta_keys import DeltaConfig
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.delta.table import DeltaTarget, Place, cause
from frazil.connectors.objects.results import PartitionResult
from frazil.connectors.objects.task import ObjectsSpec, run
from frazil.errors import CommitConflict, ConfigError, Fenced, ServiceUnavailable
from tests.connectors.objects.samples import FolderStore, sink_with
from tests.pipeline.kafka_rows import Row, chunks

KEY = ("t", 0)
DAY = 24 * 3_600_000
Make = Callable[..., "Case"]


@dataclass(frozen=True)
class LocalPlace(Place):
    """A table among the files of a FolderStore."""

    folder: str

    @property
    def uri(self) -> str:
        return f"{self.folder}/objects/{self.root}"

    def options(self) -> dict[str, str]:
        return {}


class Case:
    """A table of its own, and the files of rows."""

    def __init__(
        self, store: FolderStore | ObjectStore, place: Place, name: str, columns: str = "", **changes: Any
    ) -> None:
        keys = {"format.class": "frazil.DeltaFormat", "topics.dir": name, "errors.tolerance": "all"}
        if columns:
            keys |= {"partitioner.class": "frazil.ColumnPartitioner", "partition.field.name": columns}
            keys |= {"timestamp.extractor": "Record", "timezone": "UTC"}
        self.keys = keys
        self.config = sink_with(keys)
        self.store, self.place = store, place
        self.delta = DeltaConfig(**changes)
        self.columns = self.config.partitioning.fields

    def replaced(self, changes: dict[str, str]) -> ObjectSinkConfig:
        """The configuration with changes."""
        return sink_with(self.keys | changes)

    def target(self) -> DeltaTarget:
        made = DeltaTarget(self.delta, self.place, "c", self.columns)
        self.started = made.start([KEY])
        return made

    def files(self, target: DeltaTarget, rows: list[Row]) -> PartitionResult:
        begin, end = rows[0].offset, rows[-1].offset + 1
        spec = ObjectsSpec(self.config, self.store, {KEY: begin}, {KEY: end}, columns=target.columns)
        return run(chunks(rows), spec).partitions[KEY]

    def write(self, target: DeltaTarget, rows: list[Row]) -> PartitionResult:
        found = self.files(target, rows)
        if found.unknown:
            assert target.evolve(found.unknown)
            found = self.files(target, rows)
        target.commit(found.objects, {KEY: found.position})
        return found

    def table(self) -> DeltaTable:
        return DeltaTable(self.place.uri, storage_options=self.place.options())

    def rows(self) -> list[dict[str, Any]]:
        return sorted(self.table().to_pyarrow_table().to_pylist(), key=lambda row: row["n"])


@pytest.fixture(params=["folder", pytest.param("stack", marks=pytest.mark.stack)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    name = request.node.name.partition("[")[0]
    if request.param == "folder":
        folder = FolderStore(str(tmp_path))
        local = LocalPlace(ObjectStoreConfig("delta", "us-east-1", None), name, str(tmp_path))
        return lambda columns="", **changes: Case(folder, local, name, columns, **changes)
    settings = request.getfixturevalue("stack").settings
    config = ObjectStoreConfig(
        "delta", settings.region, settings.s3_endpoint, access_key=settings.access_key, secret_key=settings.secret_key
    )
    store = ObjectStore(config)
    store.create()
    return lambda columns="", **changes: Case(store, Place(config, name), name, columns, **changes)


def rows(first: int, count: int = 3, more: str = "") -> list[Row]:
    return [Row(n, b'{"n":%d%s}' % (n, more.encode()), DAY * n) for n in range(first, first + count)]


def refused(found: PartitionResult) -> dict[int, str]:
    """Reasons of the dead letters, by offset."""
    return {letter.offset: letter.reason for letter in found.letters}


SCHEMAS = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
    "flush.size": "1",
}
CONNECT = "org.apache.kafka.connect.data."


def schema(*more: dict[str, Any]) -> dict[str, Any]:
    """A schema of records with a number `n` and fields of all logical types."""
    logical = {"Date": "int32", "Time": "int32", "Timestamp": "int64"}
    fields: list[dict[str, Any]] = [{"field": "n", "type": "int32"}]
    fields += [{"field": name.lower(), "type": type_, "name": CONNECT + name} for name, type_ in logical.items()]
    decimal = {"field": "price", "type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "2"}}
    map_ = {"field": "m", "type": "map", "keys": {"type": "string"}, "values": {"type": "float"}}
    return {"type": "struct", "fields": [*fields, decimal, map_, {"field": "raw", "type": "bytes"}, *more]}


def with_schema(offset: int, of: dict[str, Any], **payload: Any) -> Row:
    fields = [{**field, "optional": True} for field in of["fields"]]
    return Row(offset, json.dumps({"schema": {**of, "fields": fields}, "payload": payload}).encode())


def test_columns_have_the_types_of_the_schema(make: Make) -> None:
    case = make()
    case.config = case.replaced(SCHEMAS)
    target = case.target()
    case.write(target, [with_schema(0, schema(), n=1), with_schema(1, schema(), n=2, date=1, price="AJw=")])
    moment = {"timestamp": 1_700_000_000_123, "time": 5, "m": {"a": 0.5}, "raw": "YQ=="}
    case.write(target, [with_schema(2, schema({"field": "late", "type": "int64"}), n=3, **moment)])
    types = {field.name: str(field.type) for field in case.table().to_pyarrow_table().schema}
    assert types == {
        **{"n": "int32", "date": "date32[day]", "time": "int32", "timestamp": "timestamp[us, tz=UTC]"},
        **{"price": "decimal128(38, 2)", "m": types["m"], "raw": "binary", "late": "int64"},
    }
    assert types["m"].startswith("map<string, float")
    found = case.rows()
    assert (found[1]["date"], found[1]["price"]) == (dt.date(1970, 1, 2), Decimal("1.56"))
    assert found[2]["timestamp"].isoformat() == "2023-11-14T22:13:20.123000+00:00"
    assert (found[2]["time"], found[2]["m"], found[2]["raw"], found[0]["late"]) == (5, [("a", 0.5)], b"a", None)


def test_a_column_stays_as_wide_as_it_is_and_takes_what_fits(make: Make) -> None:
    case = make()
    case.config = case.replaced(SCHEMAS)
    target = case.target()
    case.write(target, [with_schema(0, {"type": "struct", "fields": [{"field": "n", "type": "int32"}]}, n=1)])
    wider = {"type": "struct", "fields": [{"field": "n", "type": "int64"}]}
    found = case.write(target, [with_schema(1, wider, n=2), with_schema(2, wider, n=2**40)])
    assert list(refused(found)) == [2] and "int" in refused(found)[2]
    assert [row["n"] for row in case.rows()] == [1, 2]


def test_a_schema_says_the_unit_of_a_number_for_a_column_that_is_there(make: Make) -> None:
    case = make()
    case.config = case.replaced(SCHEMAS)
    target = case.target()
    case.write(target, [with_schema(0, schema(), n=1, timestamp=1)])
    micros = {"field": "timestamp", "type": "int64", "name": "io.debezium.time.MicroTimestamp"}
    days = {"field": "n", "type": "int32"}, micros
    found = case.write(target, [with_schema(1, {"type": "struct", "fields": list(days)}, n=2, timestamp=1_000_001)])
    assert refused(found) == {}
    assert [row["timestamp"].isoformat() for row in case.rows()] == [
        "1970-01-01T00:00:00.001000+00:00",
        "1970-01-01T00:00:01.000001+00:00",
    ]


def test_a_table_is_made_and_offsets_are_in_its_commits(make: Make) -> None:
    case = make(table_name="events", checkpoint_interval=2)
    target = case.target()
    assert case.started == {}
    case.write(target, rows(0, 6))
    assert [row["n"] for row in case.rows()] == list(range(6))
    assert case.table().metadata().name == "events"
    assert case.table().metadata().configuration["delta.checkpointInterval"] == "2"
    again = case.target()
    assert case.started == {KEY: 6}
    case.write(again, rows(6))
    assert case.table().count() == 9


def test_new_fields_become_columns_and_numbers_that_are_too_large_dead_letters(make: Make) -> None:
    case = make()
    target = case.target()
    case.write(target, rows(0))
    found = case.write(target, rows(3, 3, ',"s":{"x":"a"},"l":[1]'))
    assert (found.stored.total(), found.position) == (3, 6)
    case.write(target, rows(6, 3, ',"s":{"x":"b","y":2}'))
    assert case.rows()[8] == {"n": 8, "s": {"x": "b", "y": 2}, "l": None}
    assert case.rows()[0] == {"n": 0, "s": None, "l": None}
    odd = [Row(9, b'{"n":"x"}'), Row(10, b'{"n":99999999999999999999}'), Row(11, b'{"n":1,"s":{"x":1}}')]
    found = case.files(target, odd)
    assert not found.unknown
    assert sorted(refused(found)) == [9, 10] and "long" in refused(found)[9]


def test_fields_that_can_have_no_column(make: Make) -> None:
    case = make()
    target = case.target()
    case.write(target, rows(0))
    found = case.files(target, [Row(3, b'{"n":3}'), Row(4, b'{"n":4,"a b":1}'), Row(5, b'{"n":5,"s":{"x=y":1}}')])
    assert sorted(refused(found)) == [4, 5]
    assert "a column of a Delta table cannot have this name" in refused(found)[4]
    found = case.files(target, [Row(6, b'{"n":6,"k":1}'), Row(7, b'{"n":7,"N":1}'), Row(8, b'{"n":8,"K":1}')])
    assert list(found.refused) == [7]
    assert target.evolve(found.unknown)
    assert [field.name for field in target.columns.struct.fields] == ["n", "k"]
    found = case.files(target, [Row(6, b'{"n":6,"k":1}'), Row(7, b'{"n":7}'), Row(8, b'{"n":8,"K":1}')])
    assert list(refused(found)) == [8]


def test_a_table_gets_no_more_columns_than_allowed(make: Make) -> None:
    case = make(max_columns=3)
    target = case.target()
    case.write(target, rows(0, 3, ',"a":1'))
    many = Row(4, b'{"n":4,"x":{"y":1,"z":1}}')
    found = case.files(target, [Row(3, b'{"n":3,"b":1}'), many, Row(5, b'{"n":5}')])
    assert target.evolve(found.unknown)
    assert [field.name for field in target.columns.struct.fields] == ["n", "a", "b"]
    found = case.files(target, [Row(3, b'{"n":3,"b":1}'), many, Row(5, b'{"n":5}')])
    assert (list(refused(found)), found.unknown.fields) == ([4], {})
    assert "the table would have more than 3 columns; frazil.delta.max.columns allows no more" in refused(found)[4]


def test_without_evolution_other_fields_are_left_out(make: Make) -> None:
    case = make()
    case.write(case.target(), rows(0))
    kept = make(evolve=False)
    case.write(kept.target(), rows(3, 3, ',"more":1'))
    assert case.rows()[5] == {"n": 5}


def test_partition_columns_are_of_time_and_of_fields(make: Make) -> None:
    case = make("region,day")
    target = case.target()
    case.write(target, [Row(0, b'{"n":0,"region":"a/b"}', DAY), Row(1, b'{"n":1}'), Row(2, b'{"n":2,"region":""}')])
    found = case.rows()
    assert [(row["n"], row["region"], row["day"]) for row in found] == [(0, "a/b", 2), (1, None, 1), (2, None, 1)]
    assert case.table().metadata().partition_columns == ["region", "day"]
    odd = case.files(target, rows(3, 3, ',"region":"x","day":1'))
    assert (len(refused(odd)), odd.unknown.fields) == (3, {})
    assert refused(odd)[3] == "column day: the column of this name is the record's time"
    with pytest.raises(ConfigError, match="is partitioned by region, day, and the connector by day"):
        make("day").target()


def test_another_worker_is_noticed_before_and_while_it_commits(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make()
    first = case.target()
    case.write(first, rows(0))
    second = case.target()
    case.write(second, rows(3))
    with pytest.raises(Fenced, match=f"up to offset 6 into {case.place.uri}"):
        case.write(first, rows(3))
    assert case.table().count() == 6
    late = case.target()
    found = case.files(late, rows(6))
    monkeypatch.setattr(late, "_load", lambda: None)
    case.write(second, rows(6))
    monkeypatch.setattr(late, "_check_offsets", lambda moved: None)
    with pytest.raises(CommitConflict, match="was changed by others at the same time"):
        late.commit(found.objects, {KEY: found.position})
    assert case.table().count() == 9


def test_tables_that_others_made(make: Make) -> None:
    case = make()
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), ("at", pa.timestamp("us", "UTC"))])
    DeltaTable.create(case.place.uri, schema, storage_options=case.place.options())
    target = case.target()
    case.write(target, [Row(0, b'{"n":0,"at":"2026-03-01T00:00:00Z"}'), *rows(1, 2)])
    assert [row["at"] is None for row in case.rows()] == [False, True, True]
    assert list(refused(case.files(target, [Row(3, b"{}"), *rows(4, 2)]))) == [3]
    case.table().alter.add_constraint({"positive": "n >= 0"})
    with pytest.raises(ConfigError, match="has delta.constraints.positive, which is not supported"):
        case.target()


def test_a_commit_that_is_there_after_all(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = make()
    target = case.target()
    case.write(target, rows(0))
    found = case.files(target, rows(3))
    real = DeltaTable.create_write_transaction

    def lost(self: DeltaTable, *arguments: Any, **named: Any) -> None:
        real(self, *arguments, **named)
        raise OSError("the answer is lost")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", lost)
    target.commit(found.objects, {KEY: found.position})
    monkeypatch.setattr(DeltaTable, "create_write_transaction", lambda *_, **__: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(ServiceUnavailable, match="does not take a commit: no"):
        target.commit([], {KEY: 9})
    monkeypatch.undo()
    case.write(target, rows(6))
    assert case.table().count() == 9


def test_small_files_are_put_together_and_old_ones_deleted(make: Make) -> None:
    case = make(optimize_interval=4, vacuum_hours=0)
    target = case.target()
    for first in range(0, 15, 3):
        case.write(target, rows(first))
    assert case.table().count() == 15
    assert len(case.table().file_uris()) < 5
    assert target.start([KEY]) == {KEY: 15}
    listed = [
        name for name in case.store.names(case.place.root) if name.endswith(".parquet") and "_delta_log" not in name
    ]
    assert len(listed) < 6


def test_objects_whose_keys_are_data_are_maps(make: Make) -> None:
    case = make()
    case.config = case.replaced({"flush.size": "40"})
    target = case.target()
    labelled = [Row(n, b'{"n":%d,"labels":{"k%d":"v"},"wide":{"a":%d,"b":1}}' % (n, n, n), DAY * n) for n in range(40)]
    case.write(target, labelled)
    table = case.table()
    assert [(field.name, str(field.type)) for field in pa.schema(table.schema().to_arrow())] == [
        ("n", "int64"),
        ("labels", "map<string, string>"),
        ("wide", "struct<a: int64, b: int64>"),
    ]
    case.config = case.replaced({"flush.size": "1"})
    case.write(target, [Row(40, b'{"n":40,"labels":{"x":1,"y":{"z":[2]}}}', 0)])
    shown = [dict(row["labels"]) for row in case.rows()]
    assert shown == [*({f"k{n}": "v"} for n in range(40)), {"x": "1", "y": '{"z":[2]}'}]


def test_objects_whose_keys_grow_with_the_records_are_maps_where_there_is_little_room(make: Make) -> None:
    case = make(max_columns=8)
    case.config = case.replaced({"flush.size": "12"})
    target = case.target()
    found = case.write(target, [Row(n, b'{"n":%d,"ids":{"k%d":%d}}' % (n, n, n), 0) for n in range(12)])
    assert (refused(found), [dict(row["ids"]) for row in case.rows()]) == ({}, [{f"k{n}": str(n)} for n in range(12)])


def test_an_error_is_told_in_a_line_without_colours_and_markup() -> None:
    arrow = "\n   \x1b[31m↳\x1b[0m "
    answer = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied.</Message>'
        "<Resource>/b</Resource></Error>\n"
    )
    error = OSError(f"Kernel error -> Generic S3 error{arrow}Error performing GET http://a/b in 5ms{arrow}{answer}")
    assert cause(error) == (
        "Kernel error -> Generic S3 error: Error performing GET http://a/b in 5ms: AccessDenied: Access Denied"
    )
    assert cause(ValueError("as it is.")) == "as it is"
