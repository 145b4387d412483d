"""The limit of one core: records in memory, parsed by arrow-json and written as Parquet, without Kafka, Spark or store.

`measure` runs this module in a process of its own, pinned to one core, which prints its figures as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

import arro3.io
import pyarrow as pa
import pyarrow.parquet as pq

from bench.load import audit_records, fixed_records
from bench.results import Limit
from frazil.clients.kafka.ranges import CHUNK
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.errors import ServiceDied
from frazil.minio.records.kinds import TableKind
from frazil.minio.records.mapper import mapper_for
from frazil.minio.records.tables import SCHEMAS
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.decode import DecodeSpec, decoder
from frazil.pipeline.dictionaries import with_dictionary

Reader = Literal["arrow-json", "decoder"]
Parse = Callable[[Sequence[bytes]], pa.Table]

TITLES: dict[Reader, str] = {
    "arrow-json": "arrow-json + Parquet",
    "decoder": "frazil's decoder (verdict, arrow-json, redaction) + Parquet",
}
# Decoded bytes of a file, as the worker uses it.
_FLUSH_BYTES = 128 << 20
_MOST_RECORDS = 300_000
_TIMEOUT_S = 600


def measure(kind: TableKind, records: int, reader: Reader, folder: Path) -> Limit:
    """Measure one reader with at most 300,000 of the records; the file goes to `folder` and is removed.

    Raises ServiceDied when the process fails or needs over ten minutes.
    """
    count = min(records, _MOST_RECORDS)
    return in_process("bench.limit", [kind, str(count), reader, str(folder)], f"the limit of {reader}")


def in_process(module: str, arguments: Sequence[str], what: str) -> Limit:
    """The figures that a module prints as JSON in a process of its own; `what` names them in errors.

    Raises ServiceDied when the process fails or needs over ten minutes.
    """
    command = [sys.executable, "-m", module, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True, cwd=Path(__file__).parents[1]
        )
    except subprocess.TimeoutExpired as error:
        raise ServiceDied(f"{what} was not measured in {_TIMEOUT_S} s; it was stopped") from error
    except subprocess.CalledProcessError as error:
        raise ServiceDied(f"{what} was not measured: {error.stderr[-2000:]}") from error
    return Limit(**json.loads(done.stdout))


def run(values: Sequence[bytes], parse: Parse, path: Path, title: str) -> Limit:
    """Parse all records and write them to `path` in this process."""
    started = time.perf_counter()
    parse_s = write_s = 0.0
    stream: pq.ParquetWriter | None = None
    pending: list[pa.Table] = []
    for begin in range(0, len(values), CHUNK):
        before = time.process_time()
        pending.append(parse(values[begin : begin + CHUNK]))
        parse_s += time.process_time() - before
        if sum(table.nbytes for table in pending) > _FLUSH_BYTES or begin + CHUNK >= len(values):
            before = time.process_time()
            table = pa.concat_tables(pending)
            stream = stream or _writer(path, table)
            stream.write_table(table)
            pending = []
            write_s += time.process_time() - before
    if stream is not None:
        before = time.process_time()
        stream.close()
        write_s += time.process_time() - before
    return Limit(title, len(values), parse_s, write_s, time.perf_counter() - started)


def _writer(path: Path, table: pa.Table) -> pq.ParquetWriter:
    """Open the file as a task does."""
    chosen = with_dictionary(table)
    return pq.ParquetWriter(path, table.schema, use_dictionary=chosen, compression="zstd", compression_level=1)


def parser(kind: TableKind, reader: Reader) -> Parse:
    """The function that turns a chunk of records into a table of the kind's columns."""
    struct = struct_of(SCHEMAS[kind])
    if reader == "decoder":
        records = decoder(DecodeSpec(struct, evolve=True, mapper=mapper_for(SCHEMAS[kind], redact=True)))
        return lambda values: records.decode(values).table
    schema = arrow_schema(struct)
    return lambda values: pa.table(arro3.io.read_json(b"\n".join(values), schema, batch_size=len(values)))


def _main(kind: TableKind, count: int, reader: Reader, folder: Path) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    # Bare arrow-json reads no object into a text column, so audit records are those whose details are text.
    values = list(audit_records(count, "text") if kind == "audit" else fixed_records(kind, count))
    with tempfile.TemporaryDirectory(dir=folder) as target:
        limit = run(values, parser(kind, reader), Path(target) / "limit.parquet", TITLES[reader])
    written = {name: getattr(limit, name) for name in ("title", "records", "parse_cpu_s", "write_cpu_s", "seconds")}
    print(json.dumps(written))


if __name__ == "__main__":
    _kind, _count, _reader, _folder = sys.argv[1:]
    assert _kind in get_args(TableKind) and _reader in get_args(Reader)
    _main(_kind, int(_count), _reader, Path(_folder))  # type: ignore[arg-type]
