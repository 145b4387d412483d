"""The transformations of a connector, applied to chunks of Kafka rows before they are routed and decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import msgspec
import numpy as np

from frazil.clients.kafka.headers import Headers
from frazil.pipeline.convert.strict import ConversionError, StageError, is_nothing, parse_object
from frazil.pipeline.poison import step
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.columns import ApplyToBlock, Block, changed, members_of
from frazil.pipeline.transforms.declaration import PredicateConfig, TransformChain, TransformConfig
from frazil.pipeline.transforms.headers import header_reader
from frazil.pipeline.transforms.keys import key_reader
from frazil.pipeline.transforms.plugin import Test
from frazil.pipeline.transforms.record import (
    UNNAMED,
    Apply,
    Json,
    Record,
    raw_bytes,
    read_as_text,
    with_types,
)
from frazil.pipeline.transforms.registry import PREDICATES, TRANSFORMATIONS
from frazil.pipeline.transforms.shapes import Shapes
from frazil.pipeline.transforms.unread import Shown, Unread
from frazil.pipeline.types import Struct, Type, Typed
from frazil.pipeline.values import Columns, Ints, Part, Prepared, Values

_REFUSED = (ValueError, ArithmeticError, msgspec.MsgspecError)
_FEW = 32
"""Records that cost no more one by one than at once."""
_MOST_TOPICS = 1000


@lru_cache(maxsize=16)
def transformer(chain: TransformChain) -> Transformer:
    """Give the transformer for a chain; equal chains share one in a Python worker."""
    return Transformer(chain)


@dataclass(frozen=True, slots=True)
class _Step:
    config: TransformConfig
    apply: Apply


class Transformer:
    """Applies a chain; safe for one thread."""

    def __init__(self, chain: TransformChain) -> None:
        self._steps = [_Step(config, _compiled(config)) for config in chain.steps]
        self._read_key = key_reader(chain.key) if chain.reads_keys else None
        typed_keys = chain.reads_keys and chain.key.envelope is not None
        self._gives_keys = chain.gives_keys
        self._reads_headers = chain.reads_headers or typed_keys
        self._read_header = header_reader(chain.header) if chain.header else None
        self._value_is_text = chain.value_is_text
        self._makes_types = typed_keys or any(
            TRANSFORMATIONS[step.name].makes_types(dict(step.settings)) for step in chain.steps
        )
        self._shapes = Shapes()
        built = [_compiled_columns(config) for config in chain.steps]
        looks = chain.reads_keys or bool(chain.header)
        self._columns = None if looks or None in built else [one for one in built if one is not None]
        self._of_json = not chain.value_is_text and all(TRANSFORMATIONS[step.name].of_json for step in chain.steps)
        self._shown: dict[str, Shown] = {}

    @property
    def takes_columns(self) -> bool:
        """Whether values may be columns."""
        return self._columns is not None

    def unread(self, rows: Rows) -> Prepared:
        """Leave values, which come without a schema, to be transformed when they are decoded, as far as they may be."""
        steps = self._columns if self._of_json and len(rows) >= _FEW else None
        topics = [rows.topic] * len(rows)
        after = None if steps is None else changed(Block({}, topics, rows.partition, rows.offsets, rows.stamps), steps)
        if steps is None or after is None:
            return self.transform(rows)
        nothing = [index for index, value in enumerate(rows.values) if is_nothing(value)]
        found = self._read(rows, np.array(nothing, np.int64))
        if len(self._shown) >= _MOST_TOPICS:
            self._shown.clear()
        part = Unread(
            at=np.arange(len(rows)),
            read=partial(self._read, rows),
            topics=after.topics,
            rows=rows,
            steps=steps,
            shown=self._shown.setdefault(rows.topic, Shown()),
        ).only(np.delete(np.arange(len(rows)), nothing))
        return replace(found, values=replace(found.values, columns=[part]))

    def _read(self, rows: Rows, numbers: Ints) -> Prepared:
        """Transform some of the rows one by one."""
        own = numbers.tolist()
        with step("transform"):
            return self.transform(rows, Values([rows.values[index] for index in own], own))

    def prepared(self, rows: Rows, read: Values) -> Prepared:
        """Transform values that may be columns."""
        columns: list[Part] = []
        left: list[Part] = []
        for one in read.columns:
            after = self._changed(rows, one) if isinstance(one, Columns) else None
            (left if after is None else columns).append(after or one)
        others = replace(read, columns=left).one_by_one()
        found = self.transform(rows, others.values)
        return replace(
            found,
            values=replace(found.values, columns=columns),
            dropped=[*others.dropped, *found.dropped],
            failed=[*others.failed, *found.failed],
        )

    def _changed(self, rows: Rows, columns: Columns) -> Columns | None:
        """Change columns; None where their records have to be transformed one by one."""
        topics = columns.topics or [rows.topic] * len(columns)
        at = columns.at
        members = members_of(columns.struct, columns.shape)
        block = Block(members, topics, rows.partition, rows.offsets[at], rows.stamps[at])
        after = changed(block, self._columns or ())
        if after is None or not after.members:
            return None
        read = partial(self._again, rows, columns)
        return replace(columns, struct=after.struct(), shape=after.shape, topics=after.topics, read=read)

    def _again(self, rows: Rows, columns: Columns, numbers: Ints) -> Prepared:
        """Transform records of columns one by one."""
        read = columns.read(numbers)
        found = self.transform(rows, read.values)
        return replace(found, dropped=[*read.dropped, *found.dropped], failed=[*read.failed, *found.failed])

    def transform(self, rows: Rows, read: Values | None = None) -> Prepared:
        """Transform records; the positions in the result are those in `rows`. `read` are their values, if not all."""
        if read is None:
            read = Values(rows.values)
        values: list[bytes | None] = []
        kept: list[int] = []
        topics: list[str] = []
        dropped: list[int] = []
        failed: list[tuple[int, ConversionError]] = []
        shapes: list[Struct | None] = []
        given: list[tuple[bytes | None, Type | None]] = []
        has_types = self._makes_types or read.shapes is not None
        for index, record, shape, headers in self._records(rows, read):
            try:
                if shape is not None and isinstance(record.value, bytes):
                    record.value = with_types(parse_object(record.value), shape)
                left = self.apply(record, headers)
            except ConversionError as error:
                failed.append((index, error))
                continue
            if not left and not record.others:
                dropped.append(index)
                continue
            for one in [*record.others, record] if left else record.others:
                value, found = one.value, None
                if value is not None and not isinstance(value, bytes):
                    found = self._shapes.of(value, one.value_schema) if has_types else None
                    value = raw_bytes(value)
                values.append(value)
                if has_types:
                    shapes.append(found)
                kept.append(index)
                topics.append(one.topic)
                if self._gives_keys:
                    given.append(self._key_of(one))
        keys = given if self._gives_keys else None
        return Prepared(Values(values, kept, topics, shapes if has_types else None), dropped, failed, keys)

    def _key_of(self, record: Record) -> tuple[bytes | None, Type | None]:
        key = record.key
        if key is None or isinstance(key, bytes):
            return key, None
        return raw_bytes(key), key.type if isinstance(key, Typed) else self._shapes.of(key, record.key_schema)

    def apply(self, record: Record, headers: Headers = ()) -> bool:
        """Change one record, and its `others`; False when it is dropped, which they may not be.

        Raises ConversionError when one of them cannot be transformed.
        """
        record.others, left = [], True
        if self._read_key is not None and isinstance(record.key, bytes):
            record.key = self._read_key(record.key, headers, record.topic)
        if self._read_header is not None:
            record.headers = [(name, self._header(value)) for name, value in record.headers]
        if self._value_is_text and isinstance(record.value, bytes):
            record.value = read_as_text(record.value)
        step = None
        try:
            for step in self._steps:
                if record.others:
                    record.others = [one for one in record.others if step.apply(one) is not False]
                if left and step.apply(record) is False:
                    left = False
                if not left and not record.others:
                    return False
        except ConversionError:
            raise
        except _REFUSED as error:
            raise _failure(step, str(error)) from None
        except RecursionError:
            raise _failure(step, "it is nested too deeply") from None
        return left

    def _header(self, value: bytes | Json | None) -> Json | None:
        assert self._read_header is not None  # noqa: S101 - only asked then
        return self._read_header(value) if isinstance(value, bytes) else value

    def _records(self, rows: Rows, read: Values) -> Iterator[tuple[int, Record, Struct | None, Headers]]:
        if read.at is not None:
            rows = rows.take(read.at)
        count = len(rows)
        keys: Sequence[bytes | None] = rows.keys if self._read_key is not None else [None] * count
        headers = rows.headers if self._reads_headers and rows.headers is not None else [()] * count
        columns = zip(read.values, rows.offsets.tolist(), rows.stamps.tolist(), keys, headers, strict=True)
        for index, (value, offset, timestamp, key, named) in enumerate(columns):
            record = Record()
            record.value, record.key = value, key
            record.topic, record.partition, record.offset, record.timestamp = (
                rows.topic,
                rows.partition,
                offset,
                timestamp,
            )
            record.headers = list(named)
            shape = None if read.shapes is None else read.shapes[index]
            record.typed = shape is not None
            record.value_schema = UNNAMED if shape is None else (shape.origin, shape.version)
            record.key_schema = UNNAMED
            yield read.position(index), record, shape, named


def _failure(step: _Step | None, reason: str) -> StageError:
    assert step is not None  # noqa: S101 - only steps are tried
    return StageError("TRANSFORMATION", step.config.class_name, f"transformation {step.config.alias}: {reason}")


def _compiled(config: TransformConfig) -> Apply:
    build = TRANSFORMATIONS[config.name].build
    assert build is not None  # noqa: S101 - only transformations that do something become steps
    apply = build(dict(config.settings), config.part)
    if config.predicate is None:
        return apply
    test, negate = _test(config.predicate), config.negate

    def conditional(record: Record) -> bool | None:
        return None if test(record) is negate else apply(record)

    return conditional


def _compiled_columns(config: TransformConfig) -> ApplyToBlock | None:
    build = TRANSFORMATIONS[config.name].columns
    if build is None or config.part == "key":
        return None
    apply = build(dict(config.settings))
    if config.predicate is None:
        return apply
    asked, negate = PREDICATES[config.predicate.name].columns, config.negate
    if asked is None:
        return None
    test = asked(dict(config.predicate.settings))

    def conditional(block: Block) -> Block | None:
        found = test(block)
        return None if found is None else block if found is negate else apply(block)

    return conditional


def _test(config: PredicateConfig) -> Test:
    return PREDICATES[config.name].build(dict(config.settings))
