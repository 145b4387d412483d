"""The transformations of a connector, applied to chunks of Kafka rows before they are routed and decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import msgspec
import numpy as np

from frazil.clients.kafka.headers import Headers
from frazil.pipeline.convert.strict import ConversionError, StageError, is_nothing, parse_object
from frazil.pipeline.poison import step
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.at_once import ODD, OfText, asked_headers, columns_of, new_names
from frazil.pipeline.transforms.columns import block_of, changed, members_of
from frazil.pipeline.transforms.declaration import PredicateConfig, TransformChain, TransformConfig
from frazil.pipeline.transforms.headers import header_reader
from frazil.pipeline.transforms.keys import key_reader
from frazil.pipeline.transforms.plugin import Test
from frazil.pipeline.transforms.record import (
    UNNAMED,
    Apply,
    Json,
    Record,
    identity_of,
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

    def __init__(
        self, chain: TransformChain, watched: Callable[[TransformConfig, Apply], Apply] = lambda config, apply: apply
    ) -> None:
        """Make it of the transformations; `watched` may put something in place of each, which applies it too."""
        self._steps = [_Step(config, _compiled(config, watched)) for config in chain.steps]
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
        self._columns = columns_of(chain)
        self._asked_headers = asked_headers(chain.steps)
        self._of_text = OfText(chain)
        rest = self._of_text.rest
        of_json = not chain.value_is_text and all(TRANSFORMATIONS[step.name].of_json for step in rest)
        self._steps_of_json = columns_of(replace(chain, steps=rest)) if of_json else None
        self._new_names = new_names(rest)
        self._shown: dict[str, Shown] = {}

    @property
    def takes_columns(self) -> bool:
        """Whether values may be columns."""
        return self._columns is not None

    def unread(self, rows: Rows) -> Prepared:
        """Leave values, which come without a schema, to be transformed when they are decoded, as far as they may be."""
        if self._steps_of_json is None or len(rows) < _FEW:
            return self.transform(rows)
        if self._of_text.only_extracts and not self._steps_of_json:
            return self.texts(rows)
        inner, odd = self._changed_texts(rows)
        after = [(numbers, self._topics(rows.take(numbers.tolist()))) for numbers in self._alike(rows)]
        waiting = np.ones(len(rows), bool)
        waiting[[*odd, *(index for index, value in enumerate(inner.values) if is_nothing(value))]] = False
        parts: list[Part] = []
        for numbers, topics in after:
            if topics is None:
                waiting[numbers] = False
                continue
            part = Unread(
                at=numbers,
                read=lambda some, numbers=numbers: self._read(rows, numbers[some]),  # type: ignore[misc]
                topics=topics,
                rows=inner,
                steps=self._steps_of_json,
                shown=self._shown_of(rows.topic),
                new_names=self._new_names,
            )
            parts.append(part.only(np.flatnonzero(waiting[numbers])))
        found = self._read(rows, np.flatnonzero(~waiting))
        return replace(found, values=replace(found.values, columns=parts))

    def texts(self, rows: Rows) -> Prepared:
        """Transform values that come without a schema; at once where the transformations only take a field out."""
        if not self._of_text.only_extracts or self._steps_of_json != []:
            return self.transform(rows)
        return self._with_odd(rows, *self._changed_texts(rows))

    def _topics(self, rows: Rows) -> Sequence[str] | None:
        """Find the topics of records; None where each of them has to be looked at."""
        after = changed(block_of(rows, np.arange(len(rows)), {}), self._steps_of_json or ())
        return None if after is None else after.topics

    def _alike(self, rows: Rows) -> list[Ints]:
        """Divide records by those headers that predicates ask for."""
        if not self._asked_headers or rows.headers is None:
            return [np.arange(len(rows))]
        kinds = [frozenset(name for name, _ in named if name in self._asked_headers) for named in rows.headers]
        codes = {kind: code for code, kind in enumerate(dict.fromkeys(kinds))}
        each = np.array([codes[kind] for kind in kinds])
        return [np.flatnonzero(each == code) for code in codes.values()]

    def _shown_of(self, topic: str) -> Shown:
        if len(self._shown) >= _MOST_TOPICS:
            self._shown.clear()
        return self._shown.setdefault(topic, Shown())

    def _changed_texts(self, rows: Rows) -> tuple[Rows, list[int]]:
        """Put what the first transformations make of JSON text in place of values; also the numbers of odd ones."""
        if len(self._of_text.rest) == len(self._steps):
            return rows, []
        inner: list[bytes | None] = []
        odd: list[int] = []
        for index, value in enumerate(rows.values):
            try:
                inner.append(self._of_text.change(value))
            except ODD:
                inner.append(None)
                odd.append(index)
        return replace(rows, values=inner), odd

    def _with_odd(self, rows: Rows, inner: Rows, odd: Sequence[int]) -> Prepared:
        """Give the values of records that are transformed as far as they can be; the odd ones are transformed here."""
        if not odd:
            return Prepared(Values(inner.values, None, [rows.topic] * len(rows)))
        found = self._read(rows, np.array(odd, np.int64))
        given = dict(zip(found.values.at or (), found.values.values, strict=True))
        gone = set(odd) - given.keys()
        kept = [index for index in range(len(rows)) if index not in gone]
        values = [given[index] if index in given else inner.values[index] for index in kept]
        return replace(found, values=Values(values, kept, [rows.topic] * len(kept)))

    def _read(self, rows: Rows, numbers: Ints) -> Prepared:
        """Transform some of the rows one by one."""
        own = numbers.tolist()
        with step("transform"):
            return self.transform(rows, Values([rows.values[index] for index in own], own))

    def prepared(self, rows: Rows, read: Values) -> Prepared:
        """Transform values that may be columns."""
        columns: list[Part] = []
        left: list[Part] = []
        alike = self._alike(rows)
        divided = (each.only(np.flatnonzero(np.isin(each.at, some))) for each in read.columns for some in alike)
        for one in divided if len(alike) > 1 else read.columns:
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
        block = block_of(rows, columns.at, members_of(columns.struct, columns.shape), columns.topics)
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
        before, schema = None, UNNAMED
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
            if shape is not before:
                before, schema = shape, UNNAMED if shape is None else identity_of(shape)
            record.value_schema = schema
            record.key_schema = UNNAMED
            yield read.position(index), record, shape, named


def _failure(step: _Step | None, reason: str) -> StageError:
    assert step is not None  # noqa: S101 - only steps are tried
    return StageError("TRANSFORMATION", step.config.class_name, f"transformation {step.config.alias}: {reason}")


def _compiled(config: TransformConfig, watched: Callable[[TransformConfig, Apply], Apply]) -> Apply:
    build = TRANSFORMATIONS[config.name].build
    assert build is not None  # noqa: S101 - only transformations that do something become steps
    apply = watched(config, build(dict(config.settings), config.part))
    if config.predicate is None:
        return apply
    test, negate = _test(config.predicate), config.negate

    def conditional(record: Record) -> bool | None:
        return None if test(record) is negate else apply(record)

    return conditional


def _test(config: PredicateConfig) -> Test:
    return PREDICATES[config.name].build(dict(config.settings))
