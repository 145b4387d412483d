"""Every record of a hostile topic is stored, a dead letter or a counted skip in every sink, and no value is changed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.connectors.iceberg.table.schema import iceberg_type
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.types import Struct
from tests.connectors.broker import Broker
from tests.connectors.hostile.records import COLUMNS, Records
from tests.connectors.iceberg.driver import CREATE, EVOLVE, TABLE, TOLERANT, Driver, memory
from tests.connectors.objects import driver as objects
from tests.connectors.objects.samples import FORMAT
from tests.pipeline.convert import oracle
from tests.pipeline.transforms.chains import ICEBERG, KAFKA

ENVELOPE = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
}
PLAIN = {**ENVELOPE, "value.converter.schemas.enable": "false"}
TEXT = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
UNFORESEEN = "failed unexpectedly"


def steps(*found: tuple[str, Mapping[str, str]]) -> dict[str, str]:
    """Keys of a chain of transformations."""
    config = {"transforms": ",".join(f"t{number}" for number in range(len(found)))}
    for number, (name, keys) in enumerate(found):
        config[f"transforms.t{number}.type"] = name if "." in name else KAFKA + name
        config |= {f"transforms.t{number}.{key}": value for key, value in keys.items()}
    return config


CHAINS: dict[str, Mapping[str, str]] = {
    "none": {},
    "Flatten": steps(("Flatten$Value", {"delimiter": "_"})),
    "Cast": steps(("Cast$Value", {"spec": "int:int8,long:boolean,double:int64,string:float32,decimal:float64"})),
    "ReplaceField": steps(("ReplaceField$Value", {"renames": "int:string,long:other", "exclude": "map"})),
    "MaskField": steps(("MaskField$Value", {"fields": "int,string,list,date,us,dec"})),
    "HoistField": steps(("HoistField$Value", {"field": "inner"})),
    "ExtractField": steps(("ExtractField$Value", {"field": "after"})),
    "TimestampConverter": steps(
        ("TimestampConverter$Value", {"field": "timestamptz", "target.type": "Timestamp", "format": "yyyy-MM-dd"}),
        ("TimestampConverter$Value", {"field": "us", "target.type": "Date"}),
    ),
    "JsonToMap": steps((ICEBERG + "JsonToMapTransform", {})),
    "several": steps(
        ("InsertField$Value", {"topic.field": "string", "static.field": "other", "static.value": "1"}),
        ("RegexRouter", {"regex": "(t)(.*)", "replacement": "$1-x"}),
        ("Flatten$Value", {}),
        (ICEBERG + "KafkaMetadataTransform", {"nested": "true"}),
    ),
}
MODES: dict[str, Mapping[str, str]] = {
    "fixed": {},
    "evolving": EVOLVE,
    "legacy": {"frazil.conversion.mode": "legacy"},
}
FORMATS = {
    "json": FORMAT + "json.JsonFormat",
    "parquet": FORMAT + "parquet.ParquetFormat",
    "avro": FORMAT + "avro.AvroFormat",
}


def counts() -> list[Any]:
    """Records for each case: a thousand for all of them, or ten thousand."""
    return [pytest.param(25, id="few"), pytest.param(250, id="many", marks=pytest.mark.faults)]


@pytest.fixture(autouse=True)
def nothing_unforeseen(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No step of the pipeline may raise what nothing has foreseen."""
    with caplog.at_level(logging.ERROR):
        yield
    assert [one.getMessage() for one in caplog.records if UNFORESEEN in one.getMessage()] == []


def schema_of(columns: Struct) -> Schema:
    return Schema(*(NestedField(n, f.name, iceberg_type(f.type), f.required) for n, f in enumerate(columns.fields, 1)))


def drained(
    values: Sequence[bytes | None], config: Mapping[str, str], schema: Schema
) -> tuple[list[dict[str, Any]], set[int]]:
    """The rows of a connector that has stored everything, and the offsets of its dead letters."""
    with memory({TABLE: schema} if schema.fields else {}) as (broker, catalog):
        driver = Driver(broker, catalog, {**TOLERANT, **config})
        broker.send("t", values)
        driver.drain()
        total: Counter[str] = Counter()
        for report in driver.reports:
            assert report.read == report.stored + report.dead_letters + report.skipped
            total.update(read=report.read, stored=report.stored, dead=report.dead_letters)
        letters = broker.letters("t-dlq")
        assert total["read"] == len(values)
        assert total["dead"] == len(letters)
        assert [len(places) for places in letters.values()] == [1] * len(letters)
        rows = driver.rows(TABLE) if total["stored"] else []
        assert len(rows) == total["stored"]
        return rows, {offset for _, _, offset, _ in letters}


@pytest.mark.parametrize("count", counts())
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("mode", MODES)
def test_a_table(mode: str, chain: str, count: int) -> None:
    loose = Struct(tuple(f if f.name != "id" else type(f)(f.name, f.type) for f in COLUMNS.fields))
    converter = TEXT if chain == "JsonToMap" else PLAIN
    values = Records(len(chain) + 31 * len(mode)).plain(count)
    _, dead = drained(values, {**converter, **MODES[mode], **CHAINS[chain]}, schema_of(loose))
    assert len(dead) < count


@pytest.mark.parametrize("count", counts())
@pytest.mark.parametrize("chain", ["none", "Flatten", "MaskField", "ExtractField", "TimestampConverter", "several"])
@pytest.mark.parametrize("made", [False, True], ids=["there", "made"])
def test_a_table_for_records_with_schemas(chain: str, made: bool, count: int) -> None:
    values = Records(7 * len(chain)).enveloped(count)
    schema = Schema() if made else Schema(NestedField(1, "id", LongType()))
    _, dead = drained(values, {**ENVELOPE, **EVOLVE, **(CREATE if made else {}), **CHAINS[chain]}, schema)
    assert len(dead) < count


@pytest.mark.parametrize("count", counts())
@pytest.mark.parametrize("seed", range(8))
def test_values_of_a_table_are_those_of_the_oracle(seed: int, count: int) -> None:
    values = Records(seed).plain(count)
    expected: dict[int, Any] = {}
    too_deep: set[int] = set()
    for number, value in enumerate(values):
        try:
            row = None if value is None or value.strip(b" \t\r\n") == b"null" else oracle.row(value, COLUMNS)
        except oracle.Rejected:
            continue
        except RecursionError:
            too_deep.add(number)
            continue
        if row is not None:
            stored = pa.Table.from_pylist([row], schema=arrow_schema(COLUMNS))
            expected[row["id"]] = stored.to_pylist()[0]
    rows, _ = drained(values, PLAIN, schema_of(COLUMNS))
    found = {row["id"]: row for row in rows if row["id"] not in too_deep}
    assert found.keys() == expected.keys()
    for number, row in found.items():
        assert {name: _plain(value) for name, value in row.items()} == {
            name: _plain(value) for name, value in expected[number].items()
        }


def _plain(value: Any) -> Any:
    return value.bytes if hasattr(value, "bytes") else value


@pytest.mark.parametrize("count", counts())
@pytest.mark.parametrize("schemas", [False, True], ids=["plain", "schemas"])
@pytest.mark.parametrize("chain", ["none", "Flatten", "several"])
@pytest.mark.parametrize("format_", FORMATS)
def test_objects(
    format_: str, chain: str, schemas: bool, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Records(11 * len(chain) + len(format_))
    values = records.enveloped(count) if schemas else records.plain(count)
    broker = Broker().install(monkeypatch)
    broker.make("t")
    config = {
        **(ENVELOPE if schemas else PLAIN),
        **CHAINS[chain],
        **TOLERANT,
        "format.class": FORMATS[format_],
        "flush.size": "7",
        "rotate.schedule.interval.ms": "60000",
        "timezone": "UTC",
        "behavior.on.null.values": "ignore",
    }
    driver = objects.Driver(objects.MemoryCluster(broker), "t", tmp_path, **config)
    driver.send(values)
    for wait_ms in (0, 120_000, 120_000):
        driver.process(wait_ms)
    total: Counter[str] = Counter()
    for report in driver.reports:
        assert report.read == report.stored + report.dead_letters + report.skipped
        total.update(read=report.read, stored=report.stored, dead=report.dead_letters)
    assert total["read"] == len(values)
    letters = broker.letters("t-dlq")
    assert (total["dead"], len(letters)) == (len(letters), total["dead"])
    stored = [
        row for name, data in driver.store.objects().items() if "kept" not in name for row in _rows(format_, data)
    ]
    assert len(stored) == total["stored"]
    if format_ == "json" and chain == "none" and not schemas:
        dead = {offset for _, _, offset, _ in letters}
        kept = [value for offset, value in enumerate(values) if offset not in dead and value is not None]
        assert Counter(stored) == Counter(_compact(value) for value in kept if value.strip(b" \t\r\n") != b"null")


def _rows(format_: str, data: bytes) -> list[Any]:
    if format_ == "json":
        return [_compact(line) for line in data.splitlines()]
    if format_ == "parquet":
        rows: list[Any] = pq.read_table(BytesIO(data)).to_pylist()
        return rows
    return list(fastavro.reader(BytesIO(data)))


def _compact(text: bytes) -> bytes:
    """A JSON text without blanks, its numbers and escapes as they are written."""
    return msgspec.json.format(text, indent=-1)
