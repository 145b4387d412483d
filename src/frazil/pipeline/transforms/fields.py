"""Transformations that move, add, remove and mask fields."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from frazil.declare.definition import Value
from frazil.pipeline.convert import scalars
from frazil.pipeline.transforms.record import (
    NULL,
    Apply,
    DataError,
    Json,
    Part,
    Raw,
    Record,
    copied,
    is_null,
    looked_at,
    members,
    object_of,
    quoted,
    raw_bytes,
    replace,
)
from frazil.pipeline.transforms.rules import items, text
from frazil.text.field_path import field_path

Options = Mapping[str, Value]

_OBJECT = 0x7B
_EMPTY: Mapping[int, bytes] = {0x22: b'""', 0x7B: b"{}", 0x5B: b"[]", 0x74: b"false", 0x66: b"false"}


def replace_field(options: Options, part: Part) -> Apply:
    """Excluded fields go, of the others the included ones stay, and those are renamed."""
    exclude, include = frozenset(items(options, "exclude")), frozenset(items(options, "include"))
    renames = dict(pair.split(":") for pair in items(options, "renames"))

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        kept = {
            renames.get(name, name): value
            for name, value in found.items()
            if name not in exclude and (not include or name in include)
        }
        setattr(record, part, kept)

    def drop(record: Record) -> None:
        found = members(record, part)
        if found is not None:
            for name in exclude:
                found.pop(name, None)

    return apply if include or renames else drop


def extract_field(options: Options, part: Part) -> Apply:
    """The field takes the place of the whole; null when it is absent."""
    *outer, last = field_path(text(options, "field"), text(options, "field.syntax.version")) or ("",)

    def apply(record: Record) -> None:
        found = members(record, part)
        for name in outer:
            value = NULL if found is None else found.get(name, NULL)
            found = None if is_null(value) else object_of(value, name)
        replace(record, part, None if found is None else found.get(last))

    return apply


def hoist_field(options: Options, part: Part) -> Apply:
    """The whole becomes a field; null becomes a field that is null."""
    name = text(options, "field")

    def apply(record: Record) -> None:
        found = looked_at(record, part)
        setattr(record, part, {name: NULL if found is None else found})

    return apply


def insert_field(options: Options, part: Part) -> Apply:
    """Where the record is from, its time, a constant."""
    sources = ("topic", "partition", "offset", "timestamp")
    names = {source: text(options, f"{source}.field") for source in sources if options.get(f"{source}.field")}
    wanted = [(source, name[:-1] if name[-1:] in ("!", "?") else name) for source, name in names.items()]
    static = text(options, "static.field")
    static_name = static[:-1] if static[-1:] in ("!", "?") else static
    constant = quoted(text(options, "static.value")) if options.get("static.field") is not None else None

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        for source, name in wanted:
            found[name] = coordinate(record, source)
        if constant is not None:
            found[static_name] = constant

    return apply


def coordinate(record: Record, source: str) -> Raw:
    """Topic, partition, offset or timestamp as JSON."""
    value = getattr(record, source)
    return quoted(value) if source == "topic" else Raw(b"%d" % value)


def mask_field(options: Options, part: Part) -> Apply:
    """Values without meaning, by the kind of the value that was there; absent and null stay so."""
    names = items(options, "fields")
    given = options.get("replacement")
    replacement = None if given is None else _Replacement(str(given))

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is None:
            return
        for name in names:
            value = found.get(name)
            if value is not None and not is_null(value):
                raw = raw_bytes(value)
                found[name] = Raw(_empty(raw)) if replacement is None else replacement.of(name, raw)

    return apply


def _empty(raw: bytes) -> bytes:
    found = _EMPTY.get(raw[0])
    if found is not None:
        return found
    return b"0.0" if is_fraction(raw) else b"0"


def is_fraction(raw: bytes) -> bool:
    """Whether a JSON number is one that Connect reads as a double."""
    return b"." in raw or b"e" in raw or b"E" in raw


class _Replacement:
    """The replacement of a mask, as text and as the number that it stands for, if it does."""

    def __init__(self, given: str) -> None:
        self._given = given
        self._text = quoted(given)
        try:
            number = Decimal(given)
        except InvalidOperation:
            number = Decimal("NaN")
        self._number = number if number.is_finite() and abs(number.adjusted()) < 400 else None

    def of(self, name: str, raw: bytes) -> Raw:
        """The replacement for a value. Raises DataError where there is none."""
        kind = scalars.kind_of(raw)
        if kind == "text":
            return self._text
        if kind != "number":
            raise DataError(f"{name} is {kind}, which cannot be masked with a replacement")
        if self._number is None:
            raise DataError(f"{name} is a number, and the replacement {self._given} is none")
        if is_fraction(raw):
            return Raw(repr(float(self._number)).encode())
        return Raw(b"%d" % int(self._number))


def value_to_key(options: Options, part: Part) -> Apply:
    """The key becomes an object of fields of the value; absent ones are null."""
    names = items(options, "fields")

    def apply(record: Record) -> None:
        found = members(record, "value")
        if found is not None:
            record.key = {name: copied(found.get(name, NULL)) for name in names}

    return apply


def copy_value(options: Options, part: Part) -> Apply:
    """A field under another name, too (iceberg-sink.md S01); one that is absent is null."""
    source, target = text(options, "source.field"), text(options, "target.field")

    def apply(record: Record) -> None:
        found = members(record, "value")
        if found is not None:
            found[target] = copied(found.get(source, NULL))

    return apply


def kafka_metadata(options: Options, part: Part) -> Apply:
    """Topic, partition, offset, timestamp and a constant, at the top or in an object (S08)."""
    name, nested = text(options, "field_name"), options.get("nested") is True
    sources = ("topic", "partition", "offset", "timestamp")
    external = options.get("external_field")
    extra, value = str(external).split(",")[:2] if external is not None else ("", "")

    def apply(record: Record) -> None:
        found = members(record, "value")
        if found is None:
            return
        added: dict[str, Json] = {source: coordinate(record, source) for source in sources}
        if external is not None:
            added[extra] = quoted(value)
        if nested:
            found[name] = added
        else:
            for inner, json in added.items():
                found[f"{name}_{inner}"] = json

    return apply


def flatten(options: Options, part: Part) -> Apply:
    """Fields of objects at the top, under names that join those of the levels."""
    delimiter = text(options, "delimiter")

    def lift(found: Mapping[str, Json], prefix: str, into: dict[str, Json]) -> None:
        for name, value in found.items():
            full = f"{prefix}{delimiter}{name}" if prefix else name
            if type(value) is dict:
                lift(value, full, into)
            elif raw_bytes(value)[0] == _OBJECT:
                lift(object_of(value, full), full, into)
            else:
                into[full] = value

    def apply(record: Record) -> None:
        found = members(record, part)
        if found is not None:
            lifted: dict[str, Json] = {}
            lift(found, "", lifted)
            setattr(record, part, lifted)

    return apply
