"""The changes of `bench.upsert` by Spark's MERGE INTO, from a file: no Kafka and no conversion of records."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import SparkContext

from bench.environment import Show, with_home
from bench.load import SEED
from bench.results import Upsert
from bench.sampling import TreeSampler, cpu_between
from bench.upsert import CHANGES, ROUNDS, Changes, check, fill_table
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime, quoted
from frazil.engine import spark
from frazil.environment.settings import Settings

_NAMES = ("id", "op", "name", "email", "city", "balance", "orders", "active", "updated")
_CASTS = {"balance": "decimal(12,2)", "orders": "int", "updated": "timestamp"}


def measure(settings: Settings, mode: str, rows: int, show: Show) -> Upsert:
    """The same rounds in a Spark session of this process. Raises TerminalError when a row is wrong."""
    name = f"merge_{mode.replace('-', '_')}"
    table = fill_table(settings, name, mode, rows, show)
    own = with_home(settings, settings.home / "workers" / name)
    session = spark.start(own)
    try:
        runtime = IcebergRuntime(lambda: session, own, show)
        target = quoted(runtime.catalog(settings.catalog_properties()), ".".join(table.name()))
        expected = np.ones(rows, np.int32)
        seconds: list[float] = []
        jvm: Any = session.sparkContext._gateway  # noqa: SLF001 - PySpark does not tell its JVM
        process = psutil.Process(jvm.proc.pid)
        with TreeSampler(process) as sampler:
            start = time.time()
            for number in range(2, ROUNDS + 2):
                changes = Changes(np.random.default_rng(SEED + number), expected, number)
                show(f"MERGE: {mode}, round {number - 1} of {ROUNDS}")
                path = own.home / f"changes-{number}.parquet"
                records = [json.loads(record) for _, record in changes.records()]
                pq.write_table(pa.Table.from_pylist([{n: r.get(n) for n in _NAMES} for r in records]), path)
                begin = time.monotonic()
                columns = (f"CAST({n} AS {_CASTS[n]}) AS {n}" if n in _CASTS else n for n in _NAMES)
                with runtime.calling("MERGE INTO"):
                    source = runtime.session.read.parquet(path.as_uri()).selectExpr(*columns)
                    source.createOrReplaceTempView("changes")
                    runtime.session.sql(_statement(target))
                seconds.append(time.monotonic() - begin)
                expected = changes.expected
            cpu_s = cpu_between(sampler.samples, start, time.time())
            sampler.take()
            peak = max(sample.pss for sample in sampler.samples)
    finally:
        spark.stop(session)
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - so that the next session starts a JVM again
    check(table, expected)
    live, files = int((expected >= 0).sum()), len(list(table.scan().plan_files()))
    return Upsert(f"Spark's MERGE, {mode}", rows, live, CHANGES, seconds, cpu_s / ROUNDS, peak, files)


def _statement(table: str) -> str:
    columns = [name for name in _NAMES if name != "op"]
    return (
        f"MERGE INTO {table} t USING changes s ON t.id = s.id WHEN MATCHED AND s.op = 'd' THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{name} = s.{name}' for name in columns)} "
        f"WHEN NOT MATCHED AND s.op <> 'd' THEN INSERT ({', '.join(columns)}) "
        f"VALUES ({', '.join(f's.{name}' for name in columns)})"
    )
