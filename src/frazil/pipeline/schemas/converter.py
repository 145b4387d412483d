"""Converters of a schema registry: records to Connect schemas and values, both as JsonConverter writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from frazil.clients.kafka.headers import Headers
from frazil.clients.registry.access import RegistryAccess
from frazil.clients.registry.schema import Registered, SchemaId, SchemaType
from frazil.errors import NotFound
from frazil.pipeline.convert.strict import ConversionError, StageError
from frazil.pipeline.rows import Rows
from frazil.pipeline.schemas.avro import avro_to_connect, parse_avro
from frazil.pipeline.schemas.avro_columns import AvroColumns, Unreadable
from frazil.pipeline.schemas.avro_reader import avro_reader
from frazil.pipeline.schemas.avro_resolution import resolving_reader
from frazil.pipeline.schemas.avro_text import Ints, Texts
from frazil.pipeline.schemas.connect import (
    PLAIN,
    ConnectOptions,
    ConnectSchema,
    ProtobufOptions,
    SchemaError,
    UnfitRecord,
)
from frazil.pipeline.schemas.defaults import filled
from frazil.pipeline.schemas.json_schemas import json_to_connect
from frazil.pipeline.schemas.required import check_required
from frazil.pipeline.schemas.wire import Framing, Message, json_record

if TYPE_CHECKING:
    from frazil.clients.registry.client import RegistryClient

SubjectName = Literal["topic", "record", "topic-record"]

_FEW = 32
"""Records of one schema that cost no more one by one than at once."""
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class RegistryConverter:
    """A converter of a connector; picklable and hashable, since it travels to the tasks.

    `subject` says how the subject is named that a schema has its version from. With `latest` records are read with the
    newest schema of that subject. With `defaults` a null of Apicurio's JSON takes the default value of its schema.
    """

    class_name: str
    type: SchemaType
    access: RegistryAccess
    framing: Framing = Framing()
    subject: SubjectName = "topic"
    options: ConnectOptions | ProtobufOptions = PLAIN
    latest: bool = False
    defaults: bool = True

    def split(self, value: bytes, headers: Headers, topic: str) -> tuple[bytes, bytes]:
        """Split a record into schema and payload, in the JSON that JsonConverter writes.

        Raises StageError for a record that cannot be read, ServiceUnavailable and ConfigError for a registry that is
        needed and does not answer.
        """
        try:
            return _reader(self).split(value, headers, topic)
        except ConversionError as error:
            raise StageError(f"{self.framing.part.upper()}_CONVERTER", self.class_name, error.reason) from None

    @property
    def of_json(self) -> bool:
        """Whether values are JSON in Kafka, whose numbers Kafka Connect reads as decimals first."""
        return self.type in ("KCONNECT", "JSON")

    def runs(self, rows: Rows) -> list[Run]:
        """Read values of records at once, as far as their schemas allow it and they are what these say.

        Raises as `split` does for a registry.
        """
        return _reader(self).runs(rows) if self.type == "AVRO" else []

    def newest(self, topic: str) -> bytes:
        """Read the newest schema of a topic's subject, in the JSON that JsonConverter writes.

        Raises NotFound without one, ConversionError for one that cannot be used, and as `split` does for a registry.
        """
        return _reader(self).newest(topic)

    @property
    def names_subjects(self) -> bool:
        """Whether schemas are asked for by Confluent's API, which has subjects."""
        return self.access.api == "confluent" and self.type != "KCONNECT"


@dataclass(frozen=True)
class Run:
    """Values of one schema as columns: `struct` has one row for each of `indexes`, which are those of records."""

    schema: bytes
    indexes: Ints
    struct: pa.StructArray


@dataclass(frozen=True)
class Compiled:
    """A schema that is ready to read records; `read` gives what JSON can have, `columns` reads many at once.

    With `defaults` a null takes the default value of its schema.
    """

    schema: bytes
    read: Callable[[bytes, int], Any]
    columns: AvroColumns | None = None
    defaults: bool = False


@lru_cache(maxsize=64)
def _reader(converter: RegistryConverter) -> _Reader:
    """Give the reader of a converter, with the schemas that this process knows already."""
    from frazil.clients.registry.client import registry_client

    return _Reader(converter, registry_client(converter.access))


class _Reader:
    def __init__(self, converter: RegistryConverter, client: RegistryClient) -> None:
        self._converter = converter
        self._client = client
        self._find = converter.framing.find
        self._compiled: dict[tuple[SchemaId, Message, str], Compiled | ConversionError] = {}

    def split(self, value: bytes, headers: Headers, topic: str) -> tuple[bytes, bytes]:
        id_, message, start = self._find(value, headers)
        compiled = self._of(id_, message, topic)
        if isinstance(compiled, ConversionError):
            raise ConversionError("", compiled.reason)
        try:
            payload = _encode(compiled.read(value, start))
            payload = filled(compiled.schema, payload) if compiled.defaults else payload
            if self._converter.type == "KCONNECT":
                check_required(compiled.schema, payload)
            return compiled.schema, payload
        except UnfitRecord as error:
            raise ConversionError("", f"the record does not fit its schema ({id_}): {error}") from None
        except RecursionError:
            raise ConversionError("", "the record is nested too deeply") from None

    def runs(self, rows: Rows) -> list[Run]:
        indexes = np.arange(len(rows))
        if rows.headers is not None and any(rows.headers):
            told = [index for index, named in enumerate(rows.headers) if self._converter.framing.in_headers(named)]
            indexes = np.delete(indexes, told)
        if len(indexes) < _FEW:
            return []
        texts = Texts([value or b"" for value in rows.values])
        found = []
        for id_, message, start, own in self._converter.framing.by_id(texts, indexes):
            compiled = self._of(id_, message, rows.topic) if len(own) >= _FEW else None
            if isinstance(compiled, Compiled) and compiled.columns is not None:
                read = compiled.columns.read(texts, own, start)
                found.append(Run(compiled.schema, read.indexes, read.struct))
        return found

    def newest(self, topic: str) -> bytes:
        found, options = self._client.latest(self._subject(topic, "")), self._converter.options
        try:
            if isinstance(options, ProtobufOptions):
                from frazil.pipeline.schemas.protobuf import protobuf_to_connect
                from frazil.pipeline.schemas.protobuf_files import compile_protobuf, message_of

                first = message_of(compile_protobuf(found.text, found.references), (0,))
                return protobuf_to_connect(first, options)[0].to_json()
            if self._converter.type == "JSON":
                return json_to_connect(found.text, found.references, options)[0].to_json()
            return avro_to_connect(parse_avro(found.text, found.references), options).to_json()
        except SchemaError as error:
            raise ConversionError("", f"it cannot be used: {error}") from None

    def _of(self, id_: SchemaId, message: Message, topic: str) -> Compiled | ConversionError:
        compiled = self._compiled.get((id_, message, topic))
        if compiled is None:
            compiled = self._compiled[id_, message, topic] = self._compile(id_, message, topic)
        return compiled

    def _compile(self, id_: SchemaId, message: Message, topic: str) -> Compiled | ConversionError:
        try:
            found = self._client.schema(id_)
        except NotFound as error:
            raise ConversionError("", f"the registry has no schema with {id_}: {error}") from None
        wanted = self._converter.type
        if found.type not in (None, wanted):
            return ConversionError(
                "", f"the schema with {id_} is of type {found.type}, and the converter reads {wanted}"
            )
        options = self._converter.options
        try:
            if isinstance(options, ProtobufOptions):
                return self._compile_protobuf(id_, message, topic, found, options)
            if wanted == "KCONNECT":
                return self._compile_connect(found)
            if wanted == "JSON":
                return self._compile_json(id_, topic, found, options)
            return self._compile_avro(id_, topic, found, options)
        except SchemaError as error:
            return ConversionError("", f"the schema with {id_} cannot be used: {error}")

    def _compile_protobuf(
        self, id_: SchemaId, message: Message, topic: str, found: Registered, options: ProtobufOptions
    ) -> Compiled:
        from frazil.pipeline.schemas.protobuf import protobuf_to_connect
        from frazil.pipeline.schemas.protobuf_files import compile_protobuf, message_of

        descriptor = message_of(compile_protobuf(found.text, found.references), message)
        newest = self._newest(topic, descriptor.full_name, found)
        if newest != found:
            descriptor = message_of(compile_protobuf(newest.text, newest.references), descriptor.full_name)
        schema, read = protobuf_to_connect(descriptor, options)
        schema.version = schema.version or self._version(id_, topic, descriptor.full_name)
        return Compiled(schema.to_json(), read)

    def _compile_avro(self, id_: SchemaId, topic: str, found: Registered, options: ConnectOptions) -> Compiled:
        parsed = parse_avro(found.text, found.references)
        version = self._version(id_, topic, parsed.name)
        newest = self._newest(topic, parsed.name, found)
        if newest != found:
            wanted = parse_avro(newest.text, newest.references)
            schema = avro_to_connect(wanted, options, version)
            return Compiled(schema.to_json(), resolving_reader(parsed, wanted, options))
        schema = avro_to_connect(parsed, options, version)
        try:
            columns = AvroColumns(parsed, options)
        except Unreadable:
            columns = None
        return Compiled(schema.to_json(), avro_reader(parsed, options), columns)

    def _compile_connect(self, found: Registered) -> Compiled:
        try:
            schema = msgspec.json.decode(found.text, type=ConnectSchema)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise SchemaError(f"it is no schema of Kafka Connect: {error}") from None
        part, defaults = self._converter.framing.part, self._converter.defaults
        return Compiled(schema.to_json(), lambda value, start: json_record(value, part).payload, defaults=defaults)

    def _compile_json(self, id_: SchemaId, topic: str, found: Registered, options: ConnectOptions) -> Compiled:
        schema, read = json_to_connect(found.text, found.references, options)
        newest = self._newest(topic, schema.name or "", found)
        if newest != found:
            schema, read = json_to_connect(newest.text, newest.references, options)
        if schema.version is None:
            schema.version = self._version(id_, topic, schema.name or "")
        return Compiled(schema.to_json(), read, defaults=True)

    def _version(self, id_: SchemaId, topic: str, record: str) -> int | None:
        """The version of a schema in its subject; None for one that is not registered there."""
        if id_.kind != "id":
            return None
        try:
            return self._client.version(self._subject(topic, record), int(id_.value))
        except NotFound:
            return None

    def _newest(self, topic: str, record: str, found: Registered) -> Registered:
        """The schema to read records with that another one wrote."""
        if not self._converter.latest:
            return found
        subject = self._subject(topic, record)
        try:
            newest = self._client.latest(subject)
        except NotFound as error:
            raise ConversionError("", f"the registry has no subject {subject} with a newest schema: {error}") from None
        if newest.type != found.type:
            raise SchemaError(f"the newest one of {subject} is of type {newest.type}")
        return newest

    def _subject(self, topic: str, record: str) -> str:
        part = self._converter.framing.part
        subjects = {"topic": f"{topic}-{part}", "record": record, "topic-record": f"{topic}-{record}"}
        return subjects[self._converter.subject]
