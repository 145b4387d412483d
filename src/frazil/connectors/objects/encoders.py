"""Encoded partitions: the folder of a record below that of its topic, and its time."""

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote

import msgspec
import numpy as np

from frazil.connectors.objects.config.partitioner_keys import TIME_COLUMNS, Partitioning
from frazil.connectors.objects.fields import NotAnObject, reader, type_at
from frazil.connectors.objects.records import Records, Schema
from frazil.connectors.objects.rotation import Numbers
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.types import Scalar, Type
from frazil.text.joda_dates import bucket_start, joda_pattern

ENCODING = "Error encoding partition."
_NO_TIME = "Unable to determine timestamp using timestamp.extractor Record: the record has none"
_KINDS = ("boolean", "int", "long", "string")
_KEPT = 1 << 16
_GLUE = "\0"
EMPTY = "__HIVE_DEFAULT_PARTITION__"
"""Folder of a value that is empty, as Hive has it."""
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
"""Characters that Hive escapes in names of folders."""
_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True)
class Encoded:
    """Encoded partitions: `choices` of them, and which one each record has; the times where there are any."""

    choices: Sequence[str | ConversionError]
    places: Numbers
    times: Numbers | None = None


Encode = Callable[[Records, Numbers | None], Encoded]
"""Encodes records; the numbers are what the clock said for each of them."""


def encoder(config: Partitioning, delimiter: str, schemas: Sequence[Schema]) -> Encode:
    match config.kind:
        case "Default":
            return _by_partition
        case "Field":
            return _ByField(config.fields, delimiter, schemas)
        case "Column":
            return _ByColumn(config, delimiter, schemas)
        case _:
            return _ByTime(config, schemas)


def _by_partition(records: Records, clock: Numbers | None) -> Encoded:
    return Encoded([f"partition={records.partition}"], np.zeros(len(records), np.int64))


class _Choices:
    """Encoded partitions as they are found."""

    def __init__(self) -> None:
        self.all: list[str | ConversionError] = []
        self._numbers: dict[str, int] = {}

    def number(self, choice: str | ConversionError) -> int:
        if isinstance(choice, str) and choice in self._numbers:
            return self._numbers[choice]
        self.all.append(choice)
        if isinstance(choice, str):
            self._numbers[choice] = len(self.all) - 1
        return len(self.all) - 1


class _ByField:
    """FieldPartitioner: the values of fields, verbatim."""

    def __init__(
        self,
        paths: Sequence[str],
        delimiter: str,
        schemas: Sequence[Schema],
        value: Callable[[bytes | None], str] | None = None,
    ) -> None:
        self._paths = paths
        self._delimiter = delimiter
        self._schemas = schemas
        self._value = value or _field_value
        self._read = reader(tuple(paths))
        self._known: dict[tuple[int, tuple[bytes | None, ...]], str | ConversionError] = {}

    def __call__(self, records: Records, clock: Numbers | None) -> Encoded:
        choices = _Choices()
        places = np.zeros(len(records), np.int64)
        for index, text in enumerate(records.texts.to_pylist()):
            schema = -1 if records.schemas is None else int(records.schemas[index])
            places[index] = choices.number("" if text is None else self._choice(text, schema))
        return Encoded(choices.all, places)

    def _choice(self, text: bytes, schema: int) -> str | ConversionError:
        try:
            values = tuple(self._read(text))
        except NotAnObject:
            return ConversionError("", ENCODING)
        found = self._known.get((schema, values))
        if found is None:
            found = self._encoded(values, schema)
            if len(self._known) < _KEPT:
                self._known[schema, values] = found
        return found

    def _encoded(self, values: Sequence[bytes | None], schema: int) -> str | ConversionError:
        parts = []
        for path, raw in zip(self._paths, values, strict=True):
            struct = self._schemas[schema].struct if schema >= 0 else None
            if struct is not None:
                type_ = type_at(struct, path)
                if type_ is None:
                    return ConversionError(path, "the schema of the record has no such field")
                if not isinstance(type_, Scalar) or type_.kind not in _KINDS:
                    return ConversionError(path, ENCODING)
            try:
                parts.append(f"{path}={self._value(raw)}")
            except ValueError as error:
                return ConversionError(path, str(error))
        return self._delimiter.join(parts)


def _field_value(raw: bytes | None) -> str:
    if raw is None:
        return "null"
    if raw[:1] == b'"':
        return _text(raw)
    if raw in (b"true", b"false") or raw.removeprefix(b"-").isdigit():
        return raw.decode()
    raise ValueError(ENCODING)


def column_values(path: str, columns: Sequence[str]) -> dict[str, str | None]:
    """The values of columns in the folders of ColumnPartitioner; None for one that is absent or empty."""
    found = dict(part.partition("=")[::2] for part in path.split("/")[:-1])
    return {name: None if found[name] == EMPTY else unquote(found[name]) for name in columns}


def _column_value(raw: bytes | None, absent: str) -> str:
    """Name a folder as Hive does, so that a value is one folder and can be read back."""
    if raw is None:
        return absent
    value = _field_value(raw)
    if value == EMPTY:
        raise ValueError(f"{EMPTY} is what stands for an empty value in the names of folders")
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", value) or EMPTY


class _ByColumn:
    """ColumnPartitioner: columns in their order, each from the record's time or from a field."""

    def __init__(self, config: Partitioning, delimiter: str, schemas: Sequence[Schema]) -> None:
        times = [name for name in config.fields if name in TIME_COLUMNS]
        fields = [name for name in config.fields if name not in TIME_COLUMNS]
        self._order = [(times + fields).index(name) for name in config.fields]
        self._delimiter = delimiter
        self._encoders: list[Encode] = []
        if times:
            pattern = _GLUE.join(f"'{name}='{TIME_COLUMNS[name]}" for name in times)
            self._encoders.append(_ByTime(replace(config, pattern=pattern), schemas))
        if fields:
            self._encoders.append(
                _ByField(fields, _GLUE, schemas, partial(_column_value, absent=config.absent or EMPTY))
            )

    def __call__(self, records: Records, clock: Numbers | None) -> Encoded:
        parts = [encode(records, clock) for encode in self._encoders]
        width = len(parts[-1].choices)
        pairs = parts[0].places * width + parts[-1].places if len(parts) > 1 else parts[0].places
        found, places = np.unique(pairs, return_inverse=True)
        choices = [
            self._joined(
                [part.choices[place] for part, place in zip(parts, _split(int(pair), width, parts), strict=True)]
            )
            for pair in found
        ]
        times = next((part.times for part in parts if part.times is not None), None)
        return Encoded(choices, np.asarray(places, np.int64), times)

    def _joined(self, choices: Sequence[str | ConversionError]) -> str | ConversionError:
        texts: list[str] = []
        for choice in choices:
            if isinstance(choice, ConversionError):
                return choice
            texts += choice.split(_GLUE)
        # A record without a value has no fields; where it goes is not said by its columns.
        return self._delimiter.join(texts[place] for place in self._order if place < len(texts))


def _split(pair: int, width: int, parts: Sequence[Encoded]) -> tuple[int, ...]:
    """The places in each part that a number for both stands for."""
    return divmod(pair, width) if len(parts) > 1 else (pair,)


class _ByTime:
    """Partitioners by time: the start of the bucket that a record's time lies in, as the pattern writes it."""

    def __init__(self, config: Partitioning, schemas: Sequence[Schema]) -> None:
        self._config = config
        self._schemas = schemas
        self._pattern = joda_pattern(config.pattern)
        self._unit = 1 if self._pattern.has_fraction or config.duration_ms % 1000 else 1000
        self._read = reader((config.time_field,)) if config.extractor == "RecordField" else None
        self._known: dict[int, str | ConversionError] = {}

    def __call__(self, records: Records, clock: Numbers | None) -> Encoded:
        failed: dict[int, ConversionError] = {}
        if self._read is not None:
            times = self._from_fields(records, failed)
        elif self._config.extractor == "Record":
            times = records.stamps
            failed = {int(index): ConversionError("", _NO_TIME) for index in np.flatnonzero(times < 0)}
        else:
            assert clock is not None  # noqa: S101 - the task has one for Wallclock
            times = clock
        moments, places = np.unique(times // self._unit, return_inverse=True)
        choices = [self._folder(int(moment) * self._unit) for moment in moments]
        for index, error in failed.items():
            places[index] = len(choices)
            choices.append(error)
        return Encoded(choices, places, times)

    def _folder(self, time: int) -> str | ConversionError:
        found = self._known.get(time)
        if found is None:
            try:
                start = bucket_start(time, self._config.duration_ms, self._config.zone)
                found = self._pattern.format(start, self._config.zone)
            except ValueError as error:
                found = ConversionError("", f"{ENCODING} {error}")
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[time] = found
        return found

    def _from_fields(self, records: Records, failed: dict[int, ConversionError]) -> Numbers:
        assert self._read is not None  # noqa: S101 - only then
        path = self._config.time_field
        times = np.zeros(len(records), np.int64)
        for index, text in enumerate(records.texts.to_pylist()):
            if text is None:
                continue
            schema = -1 if records.schemas is None else int(records.schemas[index])
            struct = self._schemas[schema].struct if schema >= 0 else None
            try:
                times[index] = field_time(self._read(text)[0], path, type_at(struct, path) if struct else None)
            except NotAnObject:
                failed[index] = ConversionError("", ENCODING)
            except ValueError as error:
                failed[index] = ConversionError(path, str(error))
        return times


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLIS = re.compile(r"-?[0-9]{1,19}")
_LONG = 1 << 63
_number = msgspec.json.Decoder(float).decode


def field_time(raw: bytes | None, path: str, type_: Type | None = None) -> int:
    """The time that the source text of a member stands for.

    Whole numbers and texts of digits are epoch milliseconds, other texts are ISO-8601, in UTC when they have no zone.
    `type_` is that of the record's schema, if it has one; without, a fraction of a millisecond is cut off. Raises
    ValueError, with Connect's text, for anything else.
    """
    if raw is None or raw[:1] in (b"{", b"[", b"t", b"f") or not _tells_time(type_):
        raise ValueError(f"Error extracting timestamp from record field: {path}")
    if raw[:1] != b'"':
        try:
            return _checked(int(raw))
        except ValueError:
            return _fraction(raw)
    text = _text(raw)
    return _checked(int(text)) if _MILLIS.fullmatch(text) else iso_time(text)


def _fraction(raw: bytes) -> int:
    try:
        return _checked(int(_number(raw)))
    except (msgspec.MsgspecError, OverflowError):
        raise ValueError(f"Invalid format: {raw[:60].decode()} is no number of 64 bits") from None


def _tells_time(type_: Type | None) -> bool:
    if type_ is None:
        return True
    return isinstance(type_, Scalar) and type_.kind in ("int", "long", "string", "timestamptz")


def _checked(number: int) -> int:
    if not -_LONG <= number < _LONG:
        raise ValueError(f"Invalid format: {number} is no number of 64 bits")
    return number


def iso_time(text: str) -> int:
    """Epoch milliseconds of an ISO-8601 text. Raises ValueError for another one."""
    try:
        if len(text) > 10 and "T" not in text:
            raise ValueError(text)
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'Invalid format: "{text[:60]}" is malformed') from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return (moment - _EPOCH) // dt.timedelta(milliseconds=1)
