"""Real payloads through the sinks with default keys: no value is lost or another one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog

from frazil.clients.kafka.headers import headers_of
from frazil.connectors.objects.task import ObjectsSpec, run
from frazil.sql.engine import Engine
from tests.connectors.iceberg.driver import CREATE, EVOLVE, TOLERANT, Driver, memory
from tests.connectors.objects.samples import FORMAT, FolderStore, sink_with
from tests.corpora.compare import differences, is_empty
from tests.corpora.corpora import CORPORA, Record
from tests.pipeline.kafka_rows import Row, chunks

FEW = 60
BATCHES = (1, 3)
ORDERS = {"at once": (1, 1), "the other way round": (-1, 1), "in three batches": BATCHES}
KEY = re.compile(r"(frazil\.schema\.path\.\S+)=(\w+)")
FORMATS = {"json.JsonFormat": "json", "parquet.ParquetFormat": "parquet", "avro.AvroFormat": "avro"}


def numbered(records: list[Record], most: int | None) -> list[Record]:
    return [{"record_number": number, **record} for number, record in enumerate(records[:most])]


def wrong(sent: list[Record], read: list[Record]) -> list[str]:
    """Differences of the records that were read; none is there twice."""
    by_number = {record["record_number"]: record for record in read}
    assert len(by_number) == len(read)
    found = [each for number, record in by_number.items() for each in differences(sent[number], record)]
    return found[:10]


@dataclass(frozen=True)
class Stored:
    """Rows of a table as its files and as SQL have them, and the reasons of the records that are not in it."""

    rows: list[Record]
    answers: list[Record]
    reasons: list[str]


def table_of(records: list[Record], order: str, more: Mapping[str, str] | None = None) -> Stored:
    """What a new table has of the records."""
    step, batches = ORDERS[order]
    sent = records[::step]
    size = -(-len(sent) // batches)
    with memory({}) as (broker, catalog):
        driver = Driver(broker, catalog, {**TOLERANT, **EVOLVE, **CREATE, "iceberg.tables": "db.x", **(more or {})})
        for begin in range(0, len(sent), size):
            broker.send("t", [json.dumps(record).encode() for record in sent[begin : begin + size]])
            driver.drain()
        files = [task.file.file_path.removeprefix("file://") for task in catalog.load_table("db.x").scan().plan_files()]
        rows = [row for file in files for row in pq.read_table(file).to_pylist()]
        reasons = [
            (value or b"").decode()
            for letter in broker.records("t-dlq")
            for name, value in headers_of(letter)
            if name == "__connect.errors.exception.message"
        ]
        answers = answered(catalog, records, {row["record_number"] for row in rows})
    assert len(rows) + len(reasons) == len(records)
    return Stored(rows, answers, reasons)


def answered(catalog: Catalog, sent: list[Record], stored: set[int]) -> list[Record]:
    """All rows as SQL has them; what it counts is what was sent."""
    engine = Engine(catalog, "warehouse", "db")
    names = dict.fromkeys(name for number in stored for name, value in sent[number].items() if value is not None)
    empty = {name for number in stored for name, value in sent[number].items() if value is not None and is_empty(value)}
    counted = [name for name in names if name not in empty]
    counts = ", ".join(f'count("{name}")' for name in counted)
    [everything, found] = engine.run(f"SELECT * FROM x; SELECT {counts} FROM x")  # noqa: S608
    expected = [sum(sent[number].get(name) is not None for number in stored) for name in counted]
    assert list(found.rows[0]) == expected
    assert everything.arrow is not None
    rows: list[Record] = everything.arrow.to_pylist()
    return rows


def store(packages: Path, name: str, order: str, most: int | None) -> None:
    """Store a corpus twice when records did not fit columns that others had made: what their reasons say helps."""
    records = numbered(CORPORA[name](packages), most)
    stored = table_of(records, order)
    assert wrong(records, stored.rows) == wrong(records, stored.answers) == []
    if ORDERS[order] != BATCHES or not stored.reasons:
        assert len(stored.reasons) <= len(records) / 100, stored.reasons[:3]
        return
    assert all(KEY.search(reason) for reason in stored.reasons), stored.reasons[:3]
    again = table_of(records, order, dict(found for reason in stored.reasons for found in KEY.findall(reason)))
    assert wrong(records, again.rows) == wrong(records, again.answers) == []
    assert again.reasons == []


@pytest.mark.parametrize("order", list(ORDERS)[1:])
@pytest.mark.parametrize("name", CORPORA)
def test_a_table_has_the_values_that_were_sent(packages: Path, name: str, order: str) -> None:
    store(packages, name, order, FEW)


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CORPORA)
def test_a_table_has_all_values_of_a_whole_corpus(packages: Path, name: str, order: str) -> None:
    store(packages, name, order, None)


def objects_of(records: list[Record], form: str, folder: Path) -> list[Any]:
    """What objects of a format have of the records."""
    json_values = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    config = sink_with({**json_values, "format.class": FORMAT + form, "flush.size": str(len(records))})
    rows = [Row(number, json.dumps(record).encode()) for number, record in enumerate(records)]
    spec = ObjectsSpec(config, FolderStore(str(folder)), {("t", 0): 0}, {("t", 0): len(records)})
    result = run(chunks(rows), spec)
    assert not any(partition.letters for partition in result.partitions.values())
    read: list[Any] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        match FORMATS[form]:
            case "json":
                read += [json.loads(line) for line in path.read_bytes().splitlines()]
            case "parquet":
                read += pq.read_table(path).to_pylist()
            case "avro":
                with path.open("rb") as file:
                    read += list(fastavro.reader(file))
    return read


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", CORPORA)
def test_objects_have_the_values_that_were_sent(packages: Path, name: str, form: str, tmp_path: Path) -> None:
    records = numbered(CORPORA[name](packages), FEW)
    read = objects_of(records, form, tmp_path)
    assert len(read) == len(records)
    if form != "avro.AvroFormat":
        assert wrong(records, read) == []
