"""Preparation of records from Kafka for objects: envelope, transformations, text, missing parts."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.connectors.objects.config.object_sink import FormatConfig, ObjectSinkConfig
from frazil.connectors.objects.formats.json_tables import NAMELESS
from frazil.connectors.objects.formats.text import Failures, base64_texts, header_texts, json_texts, quoted_texts
from frazil.connectors.objects.records import Records, Schema
from frazil.connectors.objects.told import with_required
from frazil.connectors.objects.transformed import TransformedSchemas
from frazil.declare.converters import JSON_CONVERTER, STRING_CONVERTER
from frazil.pipeline import envelope
from frazil.pipeline.convert.strict import ConversionError, StageError
from frazil.pipeline.envelope import Envelope
from frazil.pipeline.json_schema import checker
from frazil.pipeline.prepare import prepare
from frazil.pipeline.rows import Rows
from frazil.pipeline.schemas.connect import read_schema
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.transforms.keys import key_reader
from frazil.pipeline.transforms.record import raw_bytes
from frazil.pipeline.types import Struct, Type

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
NULL_FAILS = "Null valued records are not writeable with current behavior.on.null.values 'settings."
_NULL_SKIPPED = "Skipping null value record."
_NO_KEY = "Key cannot be null for SinkRecord: store.kafka.keys is set"
_NO_HEADERS = "Headers cannot be null for SinkRecord: store.kafka.headers is set"


class NullValueError(ConversionError):
    """A record without a value that may neither be stored nor left out: the connector stops, whatever it tolerates."""


@dataclass(frozen=True)
class Prepared:
    """Records that are to be stored, and what became of the others, by their offsets.

    `dropped` are those that transformations left out, `tombstones` those without a value that are only counted.
    """

    records: Records
    failed: Mapping[int, ConversionError]
    dropped: Sequence[int] = ()
    tombstones: Sequence[int] = ()


_Key: TypeAlias = tuple[int, bytes | None, Type | None]


class _Texts(NamedTuple):
    """Texts of the values, topics and schemas, one per row; positions of rows that failed or were dropped.

    `keys` are those that transformations give, with the positions of their rows.
    """

    values: pa.BinaryArray
    topics: tuple[str, ...] | None
    schemas: Any
    failed: Failures
    dropped: Sequence[int] = ()
    keys: Sequence[_Key] | None = None


@dataclass
class Preparer:
    """Prepares consecutive chunks of one task; `schemas` are those that records came with, by number.

    `schema` is that of rows which were computed. `validation_s` is the time in seconds that the JSON Schema has taken
    so far.
    """

    config: ObjectSinkConfig
    schema: Schema | None = None
    schemas: list[Schema] = field(default_factory=list)
    validation_s: float = 0.0
    _numbers: dict[bytes, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.schema is not None:
            self.schemas.append(self.schema)
        self._transformed_schemas = TransformedSchemas(self.schemas)

    def prepare(self, rows: Rows, refused: Mapping[int, str]) -> Prepared:
        """Prepare rows of one Kafka partition, at least one; `refused` are offsets that no file can take, and why."""
        rows, invalid = self._checked(rows)
        offsets = rows.offsets
        texts, topics, schemas, failed, dropped, given = self._texts(rows)
        failures = {int(offsets[index]): error for index, error in failed}
        if refused:
            here = (offset for offset in offsets.tolist() if offset in refused)
            failures |= {offset: ConversionError("", refused[offset]) for offset in here}
        gone = [int(offsets[index]) for index in dropped]
        keys = headers = key_schemas = None
        if self.config.keys is not None:
            read = self._keys(rows, self.config.keys) if given is None else self._given(len(rows), given)
            texts_of_keys, key_schemas, bad = read
            keys = self._part(rows, texts_of_keys, bad, failures, _NO_KEY)
        if self.config.headers is not None:
            headers = self._part(rows, *header_texts(rows.named), failures, _NO_HEADERS)
        records = Records(
            rows.topic,
            rows.partition,
            offsets,
            rows.stamps,
            texts,
            np.array([0 if value is None else len(value) for value in rows.values], np.int64),
            topics,
            schemas,
            keys,
            headers,
            key_schemas,
        )
        lost = self._lost(records, failures, gone)
        left = [*failures, *gone, *lost]
        if left:
            records = records.where(~np.isin(offsets, left))
        return Prepared(records, failures | invalid, gone, lost)

    def _checked(self, rows: Rows) -> tuple[Rows, dict[int, ConversionError]]:
        """The rows whose values are valid by the schema, and the others by their offsets."""
        schema = self.config.json_schema
        if schema is None:
            return rows, {}
        started = time.perf_counter()
        values = rows.values
        if self.config.schemas_enable:
            values = [_payload(value) for value in values]
        failed = checker(schema.text, formats=schema.formats)(values)
        self.validation_s += time.perf_counter() - started
        if not failed:
            return rows, {}
        valid = np.ones(len(rows), np.bool_)
        valid[[index for index, _ in failed]] = False
        return rows.where(valid), {int(rows.offsets[index]): error for index, error in failed}

    def _lost(self, records: Records, failures: dict[int, ConversionError], gone: Sequence[int]) -> list[int]:
        """Offsets of records without a value that are only counted; those that fail are added to the failures."""
        if not records.texts.null_count:
            return []
        nulls = self.config.null_values
        found = records.offsets[records.tombstones].tolist()
        waiting = [offset for offset in found if offset not in failures and offset not in gone]
        if nulls.behavior == "write":
            return []
        if nulls.behavior == "fail":
            failures.update((offset, NullValueError("", NULL_FAILS)) for offset in waiting)
            return []
        if nulls.report and self.config.dead_letter_topic is not None:
            failures.update((offset, ConversionError("", _NULL_SKIPPED)) for offset in waiting)
            return []
        return waiting

    def _texts(self, rows: Rows) -> _Texts:
        if self.schema is not None:
            return _Texts(pa.array(rows.values, pa.binary()), None, np.zeros(len(rows), np.int64), [])
        if self.config.transforms is not None:
            return self._transformed(rows, self.config.transforms)
        schemas = None
        if self.config.envelope is not None:
            texts, schemas, failed = self._opened(rows.values, rows, self.config.envelope, self.config.format)
        else:
            texts, failed = self._converted(rows.values)
        return _Texts(texts, None, schemas, failed + self._misshaped(texts, schemas))

    def _transformed(self, rows: Rows, transforms: TransformChain) -> _Texts:
        """Transform the rows; what came with a schema keeps it as far as it is the same."""
        prepared = prepare(rows, transforms, envelope=self.config.envelope)
        values: list[bytes | None] = [None] * len(rows)
        names = [rows.topic] * len(rows)
        shapes = prepared.values.shapes if self.config.schemas_enable else None
        schemas = None if shapes is None else np.full(len(rows), -1, np.int64)
        for index, value in enumerate(prepared.values.values):
            position = prepared.values.position(index)
            values[position] = value
            shape = None if shapes is None else shapes[index]
            if schemas is not None and value is not None and shape is not None:
                schemas[position] = self._transformed_schemas.number(value, shape)
            if prepared.values.topics is not None:
                names[position] = prepared.values.topics[index]
        texts, failed = json_texts(values)
        topics = tuple(names) if any(name != rows.topic for name in names) else None
        failures = [*prepared.failed, *failed, *self._misshaped(texts, schemas)]
        keys = prepared.keys
        given = None if keys is None else [(prepared.values.position(at), *key) for at, key in enumerate(keys)]
        return _Texts(texts, topics, schemas, failures, prepared.dropped, given)

    def _converted(self, values: Sequence[bytes | None]) -> tuple[pa.BinaryArray, Failures]:
        config = self.config
        if config.value_converter == JSON_CONVERTER:
            return json_texts(values)
        if config.format.kind == "bytes":
            return pa.array(values, pa.binary()), []
        return quoted_texts(values) if config.value_converter == STRING_CONVERTER else base64_texts(values)

    def _misshaped(self, texts: pa.BinaryArray, schemas: Any = None) -> Failures:
        """Records that are no objects, or that have a member without a name, where the format needs columns."""
        texts_too = self.config.format.kind == "avro" and self.config.value_converter == STRING_CONVERTER
        if self.config.format.kind not in ("parquet", "avro") or texts_too:
            return []
        as_text = texts.cast(pa.string())
        objects = pc.match_substring_regex(as_text, r"^[ \t]*\{")
        wrong = np.flatnonzero(pc.fill_null(pc.invert(objects), False).to_numpy(zero_copy_only=False))
        no_objects = [
            (int(index), ConversionError("", "the value is not an object, so it has no columns")) for index in wrong
        ]
        maybe = pc.fill_null(pc.match_substring_regex(as_text, r'""[ \t]*:'), False).to_numpy(zero_copy_only=False)
        if schemas is not None:  # what has no field there is no part of the record
            maybe &= schemas < 0
        maybe[wrong] = False
        nameless = [index for index in np.flatnonzero(maybe) if "" in _members(texts[int(index)].as_py())]
        return no_objects + [(int(index), ConversionError("", NAMELESS)) for index in nameless]

    def _opened(
        self, values: Sequence[bytes | None], rows: Rows, opener: Envelope, format_: FormatConfig
    ) -> tuple[pa.BinaryArray, Any, Failures]:
        """Payloads of values or keys that come with their schemas, and the numbers of these."""
        payloads: list[bytes | None] = []
        numbers = np.full(len(rows), -1, np.int64)
        failed: Failures = []
        for index, (value, named) in enumerate(zip(values, rows.named, strict=True)):
            payload = None
            if value is not None:
                try:
                    schema, payload = opener.split(value, named, rows.topic)
                    if payload != b"null" and schema != b"null":
                        numbers[index], payload = self._schema(schema, payload, format_)
                except ConversionError as error:
                    failed.append((index, error))
                    payload = None
            payloads.append(payload)
        texts, more = json_texts(payloads)
        numbers[np.asarray(texts.is_null().to_numpy(zero_copy_only=False))] = -1
        return texts, numbers, failed + more

    def _schema(self, text: bytes, payload: bytes, format_: FormatConfig) -> tuple[int, bytes]:
        """The number of a schema, and the payload as the format writes it."""
        number = self._numbers.get(text)
        if number is None:
            struct = envelope.columns_of(text)
            told = read_schema(text)
            columns = None if struct is None else with_required(struct, told)
            number = self._numbers[text] = len(self.schemas)
            self.schemas.append(Schema(text, columns, told.name, told.version, envelope.type_of(text), told))
        rule = self.config.compatibility
        if rule != "NONE" and self.schemas[number].version is None and format_ is self.config.format:
            raise ConversionError("", f"Schema version required for {rule} compatibility")
        base64 = format_.kind == "json" and not format_.numeric_decimals
        return number, payload if base64 else envelope.rewritten(text, payload)

    def _part(
        self, rows: Rows, texts: pa.BinaryArray, failed: Failures, failures: dict[int, ConversionError], missing: str
    ) -> pa.BinaryArray:
        """Texts of keys or headers; records without them fail."""
        failures.update((int(rows.offsets[index]), error) for index, error in failed)
        for index in np.flatnonzero(texts.is_null().to_numpy(zero_copy_only=False)):
            failures.setdefault(int(rows.offsets[index]), ConversionError("", missing))
        return texts

    def _keys(self, rows: Rows, format_: FormatConfig) -> tuple[pa.BinaryArray, Any, Failures]:
        """Texts of the keys, and the numbers of their schemas, if they come with some."""
        if format_.kind == "bytes":
            return pa.array(rows.keys, pa.binary()), None, []
        opener = self.config.key.envelope
        if opener is not None:
            texts, numbers, failed = self._opened(rows.keys, rows, opener, format_)
            return texts, numbers, self._of_keys(failed)
        texts, failed = self._plain_keys(rows.keys)
        return texts, None, failed

    def _given(self, count: int, keys: Sequence[_Key]) -> tuple[pa.BinaryArray, Any, Failures]:
        """Keys as transformations have left them."""
        texts: list[bytes | None] = [None] * count
        numbers = np.full(count, -1, np.int64)
        for position, text, type_ in keys:
            texts[position] = text
            if text is not None and isinstance(type_, Struct):
                numbers[position] = self._transformed_schemas.number(text, type_)
            elif text is not None and type_ is not None:
                numbers[position] = self._transformed_schemas.number_of(type_)
        return pa.array(texts, pa.binary()), numbers, []

    def _of_keys(self, failed: Failures) -> Failures:
        class_name = self.config.key.class_name
        return [(index, StageError("KEY_CONVERTER", class_name, f"key: {error.reason}")) for index, error in failed]

    def _plain_keys(self, keys: Sequence[bytes | None]) -> tuple[pa.BinaryArray, Failures]:
        converter = self.config.key.class_name
        if converter.endswith(".ByteArrayConverter"):
            return base64_texts(keys)
        if converter in (STRING_CONVERTER, JSON_CONVERTER):
            texts_of, failures = quoted_texts(keys) if converter == STRING_CONVERTER else json_texts(keys)
            return texts_of, self._of_keys(failures)
        read = key_reader(self.config.key)
        texts: list[bytes | None] = []
        failed: Failures = []
        for index, key in enumerate(keys):
            found = None
            try:
                found = None if key is None else read(key, (), "")
            except ConversionError as error:
                failed.append((index, error))
            texts.append(None if found is None else raw_bytes(found))
        return pa.array(texts, pa.binary()), failed


def _payload(value: bytes | None) -> bytes | None:
    """The payload of a record with a schema; None for one that is no such record, which is told later."""
    if value is None:
        return None
    try:
        return envelope.split(value)[1]
    except ConversionError:
        return None
