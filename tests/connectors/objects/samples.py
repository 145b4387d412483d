"""Records and configurations for the tests of object sinks."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from frazil.clients.objects import Found
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig, object_sink_config
from frazil.connectors.objects.records import Records
from tests.connectors.samples import MINIMAL_S3_SINK

STORAGE = "io.confluent.connect.storage.partitioner."
FORMAT = "io.confluent.connect.s3.format."
HOURLY = "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH"
BY_TIME = {
    "partitioner.class": STORAGE + "TimeBasedPartitioner",
    "path.format": HOURLY,
    "partition.duration.ms": "3600000",
    "locale": "en",
    "timezone": "UTC",
    "timestamp.extractor": "Record",
}


def sink(**changes: str) -> ObjectSinkConfig:
    """The smallest configuration with changes; `_` in their names is `.`."""
    return object_sink_config(MINIMAL_S3_SINK | {name.replace("_", "."): value for name, value in changes.items()})


def sink_with(changes: dict[str, str]) -> ObjectSinkConfig:
    """The smallest configuration with changes."""
    return object_sink_config(MINIMAL_S3_SINK | changes)


def records(
    texts: Sequence[bytes | None],
    *,
    stamps: Sequence[int] | None = None,
    topics: Sequence[str] | None = None,
    schemas: Sequence[int] | None = None,
    first: int = 0,
    partition: int = 12,
) -> Records:
    """Records of topic `t` with offsets from `first` on."""
    return Records(
        "t",
        partition,
        np.arange(first, first + len(texts)),
        np.array(stamps if stamps is not None else [0] * len(texts), np.int64),
        pa.array(texts, pa.binary()),
        np.array([len(text or b"") for text in texts], np.int64),
        topics=None if topics is None else tuple(topics),
        schemas=None if schemas is None else np.array(schemas, np.int64),
    )


@dataclass(frozen=True)
class FolderStore:
    """Objects as files of a folder."""

    folder: str

    def check(self) -> None:
        """A folder can always be written to."""

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        path = Path(self.folder) / "objects" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = body.read()
        assert len(data) == size
        path.write_bytes(data)

    def get(self, name: str) -> bytes | None:
        return self.objects().get(name)

    def look(self, name: str) -> Found | None:
        data = self.get(name)
        return None if data is None else Found(data, hashlib.md5(data, usedforsecurity=False).hexdigest())

    def put_over(self, name: str, data: bytes, etag: str) -> str | None:
        found = self.look(name)
        if found is None or found.etag != etag:
            return None
        FolderStore.put(self, name, io.BytesIO(data), len(data), ())
        return hashlib.md5(data, usedforsecurity=False).hexdigest()

    def keeps_conditions(self, name: str, data: bytes) -> bool:
        return True

    def names(self, prefix: str) -> Iterator[str]:
        return iter(sorted(name for name in self.objects() if name.startswith(prefix)))

    def objects(self) -> dict[str, bytes]:
        """All objects by their names."""
        root = Path(self.folder) / "objects"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
