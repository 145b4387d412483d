"""Objects as others read them: pyarrow, DuckDB, Spark, and Apache's own library for Avro."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import avro.datafile
import avro.io
import duckdb
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from frazil.connectors.objects.task import ObjectsSpec, run
from tests.connectors.objects.samples import FORMAT, FolderStore, sink_with
from tests.isolation import isolated_settings
from tests.pipeline.kafka_rows import Row, chunks

COUNT = 250
FORMATS = {
    "json": {"format.class": FORMAT + "json.JsonFormat"},
    "json.gz": {"format.class": FORMAT + "json.JsonFormat", "s3.compression.type": "gzip"},
    "parquet": {"format.class": FORMAT + "parquet.ParquetFormat"},
    "zstd.parquet": {"format.class": FORMAT + "parquet.ParquetFormat", "parquet.codec": "zstd"},
    "avro": {"format.class": FORMAT + "avro.AvroFormat", "avro.codec": "deflate"},
}


def record(number: int) -> dict[str, Any]:
    tags = [f"t{each}" for each in range(number % 3 + 1)]
    return {
        "id": number,
        "price": number / 4,
        "name": f"naïve {number} – 東京",
        "ok": number % 2 == 0,
        "tags": tags,
        "inner": {"x": number, "y": None if number % 5 else "y"},
    }


def stored(folder: Path, form: str) -> Path:
    """Objects of a format below `objects`, each of 100 records; the last 50 records stay open."""
    changes = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    config = sink_with(FORMATS[form] | changes | {"flush.size": "100"})
    rows = [Row(number, json.dumps(record(number), ensure_ascii=False).encode()) for number in range(COUNT)]
    run(chunks(rows), ObjectsSpec(config, FolderStore(str(folder)), {("t", 0): 0}, {("t", 0): COUNT}))
    return folder / "objects" / "topics" / "t" / "partition=0"


EXPECTED = [record(number) for number in range(200)]


@pytest.mark.parametrize("form", ["parquet", "zstd.parquet"])
def test_pyarrow_reads_parquet(tmp_path: Path, form: str) -> None:
    files = sorted(stored(tmp_path, form).iterdir())
    assert [row for file in files for row in pq.read_table(file).to_pylist()] == EXPECTED


@pytest.mark.parametrize("form", ["json", "json.gz"])
def test_pyarrow_reads_json_lines(tmp_path: Path, form: str) -> None:
    files = sorted(stored(tmp_path, form).iterdir())
    assert [row for file in files for row in pyarrow.json.read_json(file).to_pylist()] == EXPECTED


@pytest.mark.parametrize("form", ["json", "json.gz", "parquet", "zstd.parquet"])
def test_duckdb_reads(tmp_path: Path, form: str) -> None:
    reader = "read_parquet" if "parquet" in form else "read_json"
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM {reader}('{stored(tmp_path, form)}/*') ORDER BY id")  # noqa: S608
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    assert [{name: row[name] for name in EXPECTED[0]} for row in rows] == EXPECTED


def test_apaches_library_reads_avro(tmp_path: Path) -> None:
    found: list[Any] = []
    for file in sorted(stored(tmp_path, "avro").iterdir()):
        with avro.datafile.DataFileReader(file.open("rb"), avro.io.DatumReader()) as reader:
            found += list(reader)
    assert found == EXPECTED


_PROGRAM = """
import json, sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
found = {}
for form, folder in json.loads(sys.argv[1]).items():
    rows = getattr(spark.read, "parquet" if "parquet" in form else "json")(folder).orderBy("id").collect()
    found[form] = [row.asDict(recursive=True) for row in rows]
print(json.dumps(found))
"""


@pytest.mark.faults
@pytest.mark.spark
def test_spark_reads(tmp_path: Path) -> None:
    forms = [form for form in FORMATS if form != "avro"]
    folders = {form: str(stored(tmp_path / form, form)) for form in forms}
    command = [sys.executable, "-c", _PROGRAM, json.dumps(folders)]
    settings = isolated_settings(tmp_path / "home")
    done = subprocess.run(command, env=settings.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(forms, EXPECTED)
