"""Questions to a large table: time, and how many of its files were read."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table

from bench.environment import Show
from bench.load import SEED
from bench.results import Question
from frazil.clients.catalog import connect
from frazil.environment.settings import Settings
from frazil.errors import ServiceDied
from frazil.minio.records.tables import API_SCHEMA, PARTITION_SPECS, TABLE_PROPERTIES
from frazil.sql.engine import Engine
from frazil.stack.process import minimal_env

DAYS, BUCKETS = 10, 10
_START = datetime(2026, 1, 1, tzinfo=UTC)
_REPEATS = 3
_TIMEOUT_S = 600

_DAY = "time >= TIMESTAMP '2026-01-05 00:00:00 UTC' AND time < TIMESTAMP '2026-01-06 00:00:00 UTC'"
_COUNTED = 'count(*), sum("callInfo".tx), max("callInfo"."httpStatusCode")'
#: What is asked, by the name in the report; `{table}` is the table.
QUESTIONS = MappingProxyType(
    {
        "a day and a bucket": f"SELECT name, {_COUNTED} FROM {{table}} WHERE {_DAY} AND bucket = 'bucket-3' "
        "GROUP BY name ORDER BY name",
        "the same through WITH": f"WITH calls AS (SELECT * FROM {{table}}) SELECT name, {_COUNTED} FROM calls "
        f"WHERE date(time) = DATE '2026-01-05' AND bucket = 'bucket-3' GROUP BY name ORDER BY name",
        "the newest 10 rows": "SELECT * FROM {table} ORDER BY time DESC LIMIT 10",
        "all rows": f"SELECT bucket, {_COUNTED} FROM {{table}} GROUP BY bucket ORDER BY bucket",
    }
)


def fill_table(settings: Settings, name: str, rows: int, show: Show) -> Table:
    """A table of API records, `rows` spread evenly over days and buckets, one commit for each day."""
    catalog = connect(settings.catalog_properties())
    catalog.create_namespace_if_not_exists(settings.namespace)
    table = catalog.create_table(
        f"{settings.namespace}.{name}", API_SCHEMA, partition_spec=PARTITION_SPECS["api"], properties=TABLE_PROPERTIES
    )
    chance = np.random.default_rng(SEED)
    for day in range(DAYS):
        show(f"query: writing day {day + 1} of {DAYS}")
        table.append(_day(chance, day, rows // DAYS))
    return table


def ask(settings: Settings, table: Table, title: str, show: Show) -> Question:
    """Ask one question several times inside this process, and once with the command line."""
    name = table.name()[-1]
    sql = QUESTIONS[title].format(table=name)
    engine = Engine(connect(settings.catalog_properties()), settings.warehouse, settings.namespace)
    times, read = [], 0
    for number in range(_REPEATS):
        show(f"query: {title}, {number + 1} of {_REPEATS}")
        started = time.perf_counter()
        [result] = engine.run(sql)
        times.append(time.perf_counter() - started)
        read = len(result.files or ())
    rows = table.scan().count()
    files = len(list(table.scan().plan_files()))
    return Question(title, rows, files, read, median(times), _program(settings, sql))


def _program(settings: Settings, sql: str) -> float:
    """Seconds that `frazil sql` takes from its start to its end."""
    command = [sys.executable, "-m", "frazil.cli.main", "sql", sql, "--format", "csv"]
    started = time.perf_counter()
    try:
        subprocess.run(
            command,
            env={**minimal_env(settings.env), **settings.env},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise ServiceDied(f"`frazil sql` did not answer in {_TIMEOUT_S} s; it was stopped") from error
    except subprocess.CalledProcessError as error:
        raise ServiceDied(f"`frazil sql` failed: {error.stderr[-2000:]}") from error
    return time.perf_counter() - started


def _day(chance: np.random.Generator, day: int, rows: int) -> pa.Table:
    schema = schema_to_pyarrow(API_SCHEMA, include_field_ids=False)
    begin = int((_START + timedelta(days=day)).timestamp() * 1_000_000)
    moments = np.sort(chance.integers(begin, begin + 86_400_000_000, rows))
    call = {
        "httpStatusCode": _chosen(chance, [200, 206, 404, 503], rows),
        "rx": pa.array(chance.integers(0, 1 << 20, rows)),
        "tx": pa.array(chance.integers(0, 1 << 30, rows)),
        "sourceHost": _chosen(chance, [f"10.0.0.{i}" for i in range(200)], rows),
        "requestID": pa.array([f"{number:016X}" for number in chance.integers(0, 1 << 62, rows)]),
        "userAgent": _chosen(chance, ["MinIO (linux; amd64) minio-go/v7.0.70", "aws-cli/2.15"], rows),
    }
    columns = {
        "version": _chosen(chance, ["1"], rows),
        "time": pa.array(moments, pa.timestamp("us", tz="UTC")),
        "node": _chosen(chance, [f"node-{i}" for i in range(4)], rows),
        "origin": _chosen(chance, ["client"], rows),
        "type": _chosen(chance, ["object"], rows),
        "name": _chosen(chance, ["s3.GetObject", "s3.PutObject", "s3.DeleteObject"], rows),
        "bucket": _chosen(chance, [f"bucket-{i}" for i in range(BUCKETS)], rows),
        "object": pa.array([f"folder/{number}.parquet" for number in chance.integers(0, 1 << 40, rows)]),
    }
    arrays = []
    for field in schema:
        if field.name == "callInfo":
            inner = [
                call[one.name].cast(one.type) if one.name in call else pa.nulls(rows, one.type) for one in field.type
            ]
            arrays.append(pa.StructArray.from_arrays(inner, fields=list(field.type)))
        else:
            known = columns.get(field.name)
            arrays.append(pa.nulls(rows, field.type) if known is None else known.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _chosen(chance: np.random.Generator, values: Sequence[str | int], rows: int) -> pa.Array:
    return pa.array(values).take(pa.array(chance.integers(0, len(values), rows)))
