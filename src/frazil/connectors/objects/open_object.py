"""An object that is open: its data, and the keys and headers of its records beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import pyarrow as pa

from frazil.connectors.objects.config.object_sink import FormatConfig, ObjectSinkConfig
from frazil.connectors.objects.formats.avro import write_avro, write_avro_typed, write_avro_values
from frazil.connectors.objects.formats.delta import TableColumns, write_table_file
from frazil.connectors.objects.formats.json_tables import Refused
from frazil.connectors.objects.formats.parquet import write_parquet
from frazil.connectors.objects.formats.text import HEADERS
from frazil.connectors.objects.naming import Kind, extension, object_name
from frazil.connectors.objects.records import Records, Schema
from frazil.connectors.objects.results import StoredObject
from frazil.connectors.objects.rotation import Numbers
from frazil.connectors.objects.spool import Spool, joined
from frazil.connectors.objects.told import with_required
from frazil.declare.converters import STRING_CONVERTER
from frazil.pipeline.convert.origins import with_origins, without_origins
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.results import NewColumns
from frazil.pipeline.types import Struct

_MADE_AT_THE_END = ("parquet", "avro")


@dataclass(frozen=True)
class Finished:
    """An object that can be stored, with its content."""

    object: StoredObject
    body: IO[bytes]


class OpenObject:
    """Takes records of one folder, in order of their offsets."""

    def __init__(
        self,
        config: ObjectSinkConfig,
        folder: str,
        schema: Schema | None,
        columns: TableColumns | None = None,
        schemas: Sequence[Schema] = (),
    ) -> None:
        """`columns` are those of the table that the object is a file of; `schemas` are those of keys, by number."""
        self._columns = columns
        self.unknown = NewColumns()
        """Fields that the table has no column for, found by `finish`."""
        self._config = config
        self._folder = folder
        self._schema = schema
        self._schemas = schemas
        self._key_schemas: set[int] = set()
        self._spools: dict[Kind, tuple[FormatConfig, Spool]] = {}
        self._offsets: list[Numbers] = []
        self._topic = ""
        self._partition = 0

    @staticmethod
    def may_refuse(config: ObjectSinkConfig) -> bool:
        """Whether `finish` may find records that the columns cannot hold."""
        return any(
            one is not None and one.kind in _MADE_AT_THE_END for one in (config.format, config.keys, config.headers)
        )

    @property
    def memory_bytes(self) -> int:
        return sum(spool.memory_bytes for _, spool in self._spools.values())

    def to_disk(self) -> None:
        """Hold nothing in memory."""
        for _, spool in self._spools.values():
            spool.to_disk()

    def add(self, records: Records, indexes: Numbers) -> None:
        """Take some of the records, by ascending positions."""
        self._topic, self._partition = records.topic, records.partition
        self._offsets.append(records.offsets[indexes])
        config = self._config
        self._write("data", config.format, _chosen(records.texts, indexes).drop_null())
        if config.keys is not None and records.keys is not None:
            self._write("keys", config.keys, _chosen(records.keys, indexes))
            if records.key_schemas is not None:
                self._key_schemas.update(np.unique(records.key_schemas[indexes]).tolist())
        if config.headers is not None and records.headers is not None:
            self._write("headers", config.headers, _chosen(records.headers, indexes))

    def _write(self, kind: Kind, format_: FormatConfig, texts: pa.BinaryArray) -> None:
        if not len(texts):
            return
        found = self._spools.get(kind)
        if found is None:
            found = self._spools[kind] = (
                format_,
                Spool(None if format_.kind in _MADE_AT_THE_END else format_.gzip_level),
            )
        found[1].write(joined(texts, format_.separator if format_.kind == "bytes" else b"\n"))

    def finish(self) -> tuple[list[Finished], dict[int, ConversionError]]:
        """Return the objects to be stored, and offsets of records that the columns cannot hold, with the reason."""
        offsets = np.concatenate(self._offsets)
        finished: list[Finished] = []
        refused: dict[int, ConversionError] = {}
        for kind, (format_, spool) in self._spools.items():
            body = spool.finish()
            if format_.kind in _MADE_AT_THE_END:
                out = Spool()
                if not spool.in_memory:
                    out.to_disk()
                body = out.finish()
                found = self._make(kind, format_, spool, body)
                refused |= {int(offsets[index]): error for index, error in found}
                spool.close()
            size = body.seek(0, 2)
            body.seek(0)
            name = object_name(
                self._config.layout,
                self._folder,
                self._topic,
                self._partition,
                int(offsets[0]),
                kind,
                extension(format_),
            )
            first, last = int(offsets[0]), int(offsets[-1])
            stored = StoredObject(name, self._topic, self._partition, first, last, len(offsets), size)
            finished.append(Finished(stored, body))
        return finished, refused

    def _make(self, kind: Kind, format_: FormatConfig, spool: Spool, out: IO[bytes]) -> Refused:
        """Write a file that has to know all its records first."""
        schema = self._schema if kind == "data" else None
        struct = None if schema is None else schema.struct
        if self._columns is not None:
            shape = schema.type if schema is not None and isinstance(schema.type, Struct) else None
            refused, self.unknown = write_table_file(spool.lines, self._columns, shape, format_.codec, out)
            return refused
        if format_.kind == "parquet":
            return write_parquet(spool.lines, struct, format_.codec, out)
        if kind == "keys":
            return self._make_keys(format_, spool, out)
        if kind == "data" and self._config.value_converter == STRING_CONVERTER:
            return write_avro_values(spool.lines, format_.codec, out)
        if kind == "headers":
            return write_avro(spool.lines, HEADERS, None, format_.codec, out)
        if schema is None:
            return write_avro(spool.lines, struct, None, format_.codec, out)
        return self._write_records(schema, format_, spool, out)

    def _make_keys(self, format_: FormatConfig, spool: Spool, out: IO[bytes]) -> Refused:
        """Write keys with the types of their schema, where all have the same one."""
        if len(self._key_schemas) != 1 or -1 in self._key_schemas:
            return write_avro_values(spool.lines, format_.codec, out)
        (number,) = self._key_schemas
        schema = self._schemas[number]
        if schema.struct is not None:
            return self._write_records(schema, format_, spool, out)
        assert schema.type is not None and schema.told is not None  # noqa: S101 - keys come with their schema
        type_ = with_required(with_origins(without_origins(schema.type), schema.type), schema.told)
        told = schema.told
        return write_avro_typed(spool.lines, type_, format_.codec, out, told, properties=format_.meta_data)

    def _write_records(self, schema: Schema, format_: FormatConfig, spool: Spool, out: IO[bytes]) -> Refused:
        struct, told = schema.struct, schema.told
        return write_avro(spool.lines, struct, schema.name, format_.codec, out, told, properties=format_.meta_data)

    def close(self) -> None:
        """Give up what was taken."""
        for _, spool in self._spools.values():
            spool.close()


def _chosen(texts: pa.BinaryArray, indexes: Numbers) -> pa.BinaryArray:
    """Choose texts by index; without a copy when they stand side by side."""
    first, last = int(indexes[0]), int(indexes[-1])
    if last - first == len(indexes) - 1:
        return texts.slice(first, len(indexes))
    return texts.take(pa.array(indexes))


def by_code(codes: Numbers, begin: int, end: int) -> Iterator[tuple[int, Numbers]]:
    """The positions of each code between two positions, in order of their first one."""
    part = codes[begin:end]
    if not len(part):
        return
    if (part == part[0]).all():
        yield int(part[0]), np.arange(begin, end)
        return
    found, first, places = np.unique(part, return_index=True, return_inverse=True)
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(len(found) + 1))
    for number in np.argsort(first):
        yield int(found[number]), begin + order[bounds[number] : bounds[number + 1]]
