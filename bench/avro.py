"""Avro beside JSON: the same records in memory, read as tasks read them and written as Parquet, on one core.

`measure` runs this module in a process of its own, pinned to one core, which prints its figures as JSON.
"""

from __future__ import annotations

import http.server
import io
import json
import os
import random
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

import fastavro
import msgspec
import numpy as np
import pyarrow as pa

from bench.limit import in_process, run
from bench.load import SEED
from bench.results import Limit
from frazil.clients.registry.access import RegistryAccess
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.environment.settings import LOOPBACK
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.envelope import Envelope, columns_of
from frazil.pipeline.prepare import prepare
from frazil.pipeline.rows import Rows
from frazil.pipeline.schemas.avro import avro_to_connect, parse_avro
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.shaped import decoded
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.types import Struct

Reader = Literal["json", "avro", "avro-one-by-one", "json-transforms", "json-transforms-one-by-one", "avro-transforms"]
Parse = Callable[[Sequence[bytes]], pa.Table]

TITLES: dict[Reader, str] = {
    "json": "JSON, 25 fields",
    "avro": "Avro, the same records",
    "avro-one-by-one": "Avro, one by one",
    "json-transforms": "JSON, ReplaceField, InsertField, MaskField and Cast",
    "json-transforms-one-by-one": "JSON, the same transforms, record by record",
    "avro-transforms": "Avro, the same transforms",
}
_MOST_RECORDS = 200_000
_CLASS = "io.confluent.connect.avro.AvroConverter"
_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("id", "customer"), "long"),
    "status": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID", "SENT"]},
    "at": {"type": "long", "logicalType": "timestamp-millis"},
    "updated": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
    "day": {"type": "int", "logicalType": "date"},
    "quantity": "int",
    **dict.fromkeys(("price", "tax", "weight"), "double"),
    "score": ["null", "double"],
    "paid": "boolean",
    "gift": ["null", "boolean"],
    **dict.fromkeys(("name", "street", "city", "zip", "country", "source"), "string"),
    **dict.fromkeys(("mail", "phone", "note"), ["null", "string"]),
    "tags": {"type": "array", "items": "string"},
    "place": ["null", {"type": "record", "name": "Place", "fields": [
        {"name": "latitude", "type": "double"}, {"name": "longitude", "type": "double"}]}],
    "session": "string",
}  # fmt: skip
SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": name, "type": of} for name, of in _FIELDS.items()]}
CONFIG = {
    "name": "bench-avro",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "orders",
    "iceberg.tables": "db.orders",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": f"http://{LOOPBACK}",
    "transforms": "drop,where,mask,cast",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.drop.exclude": "session",
    "transforms.drop.renames": "source:origin",
    "transforms.where.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.where.offset.field": "offset",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "mail,phone",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "quantity:int64",
}


def measure(records: int, reader: Reader, folder: Path) -> Limit:
    """Measure one reader with at most 200,000 records; the file goes to `folder` and is removed.

    Raises ServiceDied when the process fails or needs over ten minutes.
    """
    arguments = [str(min(records, _MOST_RECORDS)), reader, str(folder)]
    return in_process("bench.avro", arguments, TITLES[reader])


def orders(count: int) -> Iterator[dict[str, Any]]:
    """Orders, the same ones in every run; times are those of Avro."""
    chance = random.Random(SEED)
    for number in range(count):
        at = 1_767_250_000_000 + number * 977
        yield {
            "id": number, "customer": chance.randrange(10**9), "status": chance.choice(["NEW", "PAID", "SENT"]),
            "at": at, "updated": None if number % 4 == 0 else at + 5, "day": 20_454 + number % 3,
            "quantity": chance.randrange(1000), "price": chance.randrange(10**6) / 100, "tax": chance.random(),
            "weight": chance.random() * 100, "score": chance.random() if number % 3 else None,
            "paid": number % 2 == 0, "gift": None if number % 5 else True, "name": f"Customer {number}",
            "street": f"Some Street {number % 300}", "city": chance.choice(["Berlin", "Paris", "Rome"]),
            "zip": f"{chance.randrange(99999):05d}", "country": "DE", "source": "web",
            "mail": None if number % 7 == 0 else f"user{number}@example.com",
            "phone": None if number % 2 else f"+49 30 {chance.randrange(10**7)}", "note": None if number % 9 else "no",
            "tags": ["a", "bc", "def"][: number % 4],
            "place": None if number % 3 else {"latitude": chance.random(), "longitude": chance.random()},
            "session": f"{chance.getrandbits(64):016x}",
        }  # fmt: skip


def as_json(order: dict[str, Any]) -> bytes:
    """Write an order as JSON."""
    start = datetime(1970, 1, 1, tzinfo=UTC)

    def text(millis: int | None) -> str | None:
        return None if millis is None else (start + timedelta(milliseconds=millis)).isoformat().replace("+00:00", "Z")

    times = {"at": text(order["at"]), "updated": text(order["updated"])}
    return msgspec.json.encode(order | times | {"day": (start + timedelta(days=order["day"])).date().isoformat()})


def as_avro(values: Iterator[dict[str, Any]], number: int = 1) -> Iterator[bytes]:
    """Write orders as Avro behind the number of the schema."""
    plain = fastavro.parse_schema(json.loads(json.dumps(SCHEMA).replace("logicalType", "comment")))
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, plain, value)
        yield b"\0" + struct.pack(">i", number) + out.getvalue()


def parser(envelope: Envelope | None, transforms: TransformChain | None, *, columns: bool) -> Parse:
    """Make the function that turns a chunk of records into a table, as a task does it."""
    struct_ = columns_of(avro_to_connect(parse_avro(json.dumps(SCHEMA))).to_json())
    assert struct_ is not None
    spec = DecodeSpec(Struct(struct_.fields), evolve=False)

    def parse(values: Sequence[bytes]) -> pa.Table:
        numbers = np.arange(len(values))
        rows = Rows("orders", 0, numbers, numbers, values, [None] * len(values), None)
        found = decoded(prepare(rows, transforms, envelope=envelope, columns=columns).values, spec)
        assert found.table.num_rows == len(values), found.rejected[:1]
        return found.table

    return parse


@contextmanager
def _registry() -> Iterator[str]:
    """Serve the one schema."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/schemas/ids/1"
            content = json.dumps({"schema": json.dumps(SCHEMA)} if known else {"error_code": 40403}).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://{LOOPBACK}:{server.server_port}"
    server.shutdown()


def _main(count: int, reader: Reader, folder: Path) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    transforms = iceberg_sink_config(CONFIG).transforms if "transforms" in reader else None
    is_json = reader.startswith("json")
    values = list(map(as_json, orders(count)) if is_json else as_avro(orders(count)))
    with _registry() as url, tempfile.TemporaryDirectory(dir=folder) as target:
        envelope = None if is_json else RegistryConverter(_CLASS, "AVRO", RegistryAccess((url,)))
        parse = parser(envelope, transforms, columns=not reader.endswith("one-by-one"))
        limit = run(values, parse, Path(target) / "avro.parquet", TITLES[reader])
    print(json.dumps(asdict(limit)))


if __name__ == "__main__":
    _count, _reader, _folder = sys.argv[1:]
    assert _reader in get_args(Reader)
    _main(int(_count), _reader, Path(_folder))  # type: ignore[arg-type]
