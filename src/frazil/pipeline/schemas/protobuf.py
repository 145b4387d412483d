"""Protobuf messages as the Connect schemas that Confluent's converter makes of them, with their readers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from frazil.environment.extras import extra
from frazil.pipeline.schemas.connect import PREFIX, ConnectSchema, ProtobufOptions, SchemaError, UnfitRecord
from frazil.pipeline.schemas.protobuf_files import message_class, parameters_of
from frazil.pipeline.schemas.protobuf_sizes import size_check
from frazil.pipeline.schemas.protobuf_values import WRAPPED, Convert, logical

with extra("protobuf"):
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, FileDescriptor, OneofDescriptor
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
    from google.protobuf.message import DecodeError

Made = tuple[ConnectSchema, Convert | None]
"""A schema, and what makes its value of the one that a message has; None where it is the same."""

_NAMESPACE = "io.confluent.connect.protobuf"
_MOST_TYPES = 10_000
_SCALARS = {
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_SINT32: "int32",
    FieldDescriptor.TYPE_SFIXED32: "int32",
    FieldDescriptor.TYPE_UINT32: "int64",
    FieldDescriptor.TYPE_FIXED32: "int64",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT64: "int64",
    FieldDescriptor.TYPE_SINT64: "int64",
    FieldDescriptor.TYPE_FIXED64: "int64",
    FieldDescriptor.TYPE_SFIXED64: "int64",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_BOOL: "boolean",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
}
_OTHER_NAMES = {
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_SFIXED32: "sfixed32",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_FIXED32: "fixed32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_SINT64: "sint64",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
    FieldDescriptor.TYPE_SFIXED64: "sfixed64",
}
"""Types of whole numbers that are not the usual ones, which a parameter tells."""


def protobuf_to_connect(
    descriptor: Descriptor, options: ProtobufOptions
) -> tuple[ConnectSchema, Callable[[bytes, int], Any]]:
    """Make the Connect schema of a message, and the function that reads one from a place in its bytes to their end.

    The function gives what `avro_reader` gives, and raises UnfitRecord for bytes that are no such message. Raises
    SchemaError for a message that Connect has no schema for.
    """
    schema, convert = _Compiler(options).root(descriptor)
    class_ = message_class(descriptor)  # its methods, since fields of a message may have their names
    check = size_check(descriptor)
    parse, whole, lacks = class_.FromString, class_.IsInitialized, class_.FindInitializationErrors

    def read(data: bytes, start: int) -> Any:
        own = data[start:]
        check(own)
        try:
            message = parse(own)
            if not whole(message):
                raise UnfitRecord(f"it lacks {', '.join(lacks(message))}")
            return convert(message)
        except DecodeError as error:
            raise UnfitRecord(f"it is no {descriptor.full_name}: {error}") from None

    return schema, read


class _Compiler:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._open: list[str] = []
        self._types = 0

    def root(self, descriptor: Descriptor) -> tuple[ConnectSchema, Convert]:
        if self._options.raw_primitives and (unwrapped := _unwrapped(descriptor)):
            return unwrapped
        return self._struct(descriptor)

    def _struct(self, descriptor: Descriptor) -> tuple[ConnectSchema, Convert]:
        if descriptor.full_name in self._open:
            raise SchemaError(f"{descriptor.full_name} is inside of itself, which no column can hold")
        self._open.append(descriptor.full_name)
        declared = DescriptorProto()
        descriptor.CopyToProto(declared)
        real = {one.name: not one.proto3_optional for one in declared.field}
        unions = [one for one in descriptor.oneofs if all(real[field.name] for field in one.fields)]
        flat = self._options.flatten_unions
        inside = [field for one in unions for field in one.fields]
        members: list[ConnectSchema] = []
        reads: list[tuple[str, Convert]] = []
        for one in () if flat else unions:
            schema, choose = self._union(one)
            members.append(schema)
            reads.append((schema.field or "", choose))
        plain: list[tuple[FieldDescriptor, Convert | _Nullable | None]] = []
        for field in (*(inside if flat else ()), *(one for one in descriptor.fields if one not in inside)):
            in_union = field in inside
            schema, convert = self._field(field, in_union=in_union)
            members.append(schema)
            made_up = schema.type == "struct" and self._options.struct_for_nulls and not in_union
            nullable = in_union or not real[field.name] or self._is_nullable(field)
            plain.append((field, _Nullable(convert) if nullable and not made_up else convert))
        self._open.pop()
        name = descriptor.full_name if self._options.full_names else descriptor.name
        has = message_class(descriptor).HasField
        return ConnectSchema("struct", name=name, fields=members), _struct_reader(reads, plain, has)

    def _union(self, union: OneofDescriptor) -> tuple[ConnectSchema, Convert]:
        made = [self._field(field, in_union=True) for field in union.fields]
        place = f"{union.name}_{union.index}" if self._options.index_for_unions else union.name
        schema = ConnectSchema("struct", optional=True, field=place, fields=[one for one, _ in made])
        if self._options.sums:
            schema.name, schema.parameters = union.name, {f"{PREFIX}Union": union.name}
        else:
            schema.name = f"{_NAMESPACE}.Union.{union.full_name if self._options.full_names else union.name}"
        converts = {one.field or "": convert for one, convert in made}
        empty = dict.fromkeys(converts)
        name, which = union.name, message_class(union.containing_type).WhichOneof

        def read(message: Any) -> Any:
            chosen = which(message, name)
            if chosen is None:
                return None
            value, convert = getattr(message, chosen), converts[chosen]
            return {**empty, chosen: value if convert is None else convert(value)}

        return schema, read

    def _is_nullable(self, field: FieldDescriptor) -> bool:
        """Whether a field that is not there is null, and has no default value."""
        if field.is_repeated:
            return False
        return field.message_type is not None or (self._options.optional_for_proto2 and _has_keyword(field))

    def _field(self, field: FieldDescriptor, *, in_union: bool) -> Made:
        self._types += 1
        if self._types > _MOST_TYPES:
            raise SchemaError(f"it stands for more than {_MOST_TYPES:,} types")
        made, convert = self._one(field)
        options = self._options
        if field.is_repeated and made.type != "map":
            made.optional = True
            made, convert = ConnectSchema("array", optional=True, items=made), _elements(convert)
        if in_union or (_has_keyword(field) if options.optional_for_nullables else not options.wrapper_for_nullables):
            made.optional = True
        if in_union and options.wrapper_for_nullables and field.message_type and _unwrapped(field.message_type):
            made.parameters = {**(made.parameters or {}), f"{_NAMESPACE}.Wrapper": "true"}
        made.parameters = {**(made.parameters or {}), f"{_NAMESPACE}.Tag": str(field.number)}
        made.field = field.name
        return made, convert

    def _one(self, field: FieldDescriptor) -> Made:
        kind = field.type
        if kind == FieldDescriptor.TYPE_ENUM:
            return self._enum(field.enum_type)
        if kind == FieldDescriptor.TYPE_MESSAGE:
            made, convert = self._message(field)
            made.optional = True
            return made, convert
        if kind not in _SCALARS:
            raise SchemaError(f"the field {field.full_name} is a group, which Connect has no type for")
        schema = ConnectSchema(_SCALARS[kind])
        if schema.type == "int32" and (narrow := parameters_of(field).get("connect.type")) in ("int8", "int16"):
            schema.type = narrow
        elif kind in _OTHER_NAMES:
            schema.parameters = {f"{_NAMESPACE}.Type": _OTHER_NAMES[kind]}
        unchecked = kind == FieldDescriptor.TYPE_STRING and _syntax(field.file) != "proto3"
        return schema, _text if unchecked else _FLOATS.get(kind)

    def _message(self, field: FieldDescriptor) -> Made:
        descriptor = field.message_type
        if descriptor.GetOptions().map_entry:
            return self._map(descriptor)
        found = logical(descriptor, dict(parameters_of(field)))
        if found is None and self._options.wrapper_for_nullables:
            found = _unwrapped(descriptor)
        return found or self._struct(descriptor)

    def _map(self, entry: Descriptor) -> Made:
        keys, convert_key = self._field(entry.fields_by_name["key"], in_union=False)
        values, convert = self._field(entry.fields_by_name["value"], in_union=False)
        keys.field = values.field = None
        as_object = keys.type == "string"

        def read(found: Mapping[Any, Any]) -> Any:
            names = map(convert_key, found) if convert_key is not None else found
            pairs = [(key, found[key] if convert is None else convert(found[key])) for key in sorted(names)]
            return dict(pairs) if as_object else pairs

        name = entry.full_name if self._options.full_names else entry.name
        return ConnectSchema("map", name=_of_entry(name), keys=keys, values=values), read

    def _enum(self, descriptor: EnumDescriptor) -> Made:
        options = self._options
        mark = f"{PREFIX}Enum" if options.sums else f"{_NAMESPACE}.Enum"
        symbols = {f"{mark}.{value.name}": str(value.number) for value in descriptor.values}
        made = ConnectSchema(
            "int32" if options.int_for_enums else "string",
            optional=True,
            name=descriptor.full_name if options.full_names else descriptor.name,
            parameters={mark: descriptor.name, **symbols},
        )
        if options.int_for_enums:
            return made, None
        names = {number: value.name for number, value in descriptor.values_by_number.items()}
        unknown = f"UNKNOWN_ENUM_VALUE_{descriptor.name}_"
        return made, lambda number: names.get(number) or f"{unknown}{number}"


@dataclass(frozen=True)
class _Nullable:
    """Conversion of a field of a message that may not be there."""

    convert: Convert | None


def _struct_reader(
    unions: Sequence[tuple[str, Convert]],
    plain: Sequence[tuple[FieldDescriptor, Convert | _Nullable | None]],
    has: Callable[[Any, str], bool],
) -> Convert:
    """Make the function that takes the fields of a message out of it, all those that need nothing at once."""
    names = [field.name for field, _ in plain]
    changes = [(field.name, one) for field, one in plain if one is not None and not isinstance(one, _Nullable)]
    nullable = [(field.name, one.convert) for field, one in plain if isinstance(one, _Nullable)]
    blank = dict.fromkeys(name for name, _ in unions)
    take = operator.attrgetter(*names) if names else None

    def read(message: Any) -> dict[str, Any]:
        value: dict[str, Any] = blank.copy()
        for name, choose in unions:
            value[name] = choose(message)
        if take is not None:
            found = take(message)
            value.update(zip(names, found, strict=True) if len(names) > 1 else ((names[0], found),))
        for name, convert in changes:
            value[name] = convert(value[name])
        for name, maybe in nullable:
            if not has(message, name):
                value[name] = None
            elif maybe is not None:
                value[name] = maybe(value[name])
        return value

    return read


def _elements(convert: Convert | None) -> Convert:
    if convert is None:
        return list
    return lambda values: [convert(value) for value in values]


def _unwrapped(descriptor: Descriptor) -> tuple[ConnectSchema, Convert] | None:
    """Give schema and reader of the value that one of Google's wrapper messages holds; None for any other message."""
    kind = WRAPPED.get(descriptor.full_name)
    if kind is None or [one.name for one in descriptor.fields] != ["value"]:
        return None
    convert = _FLOATS.get(descriptor.fields[0].type)
    if _SCALARS.get(descriptor.fields[0].type) != kind or descriptor.fields[0].is_repeated:
        return None
    return ConnectSchema(kind), (lambda message: message.value if convert is None else convert(message.value))


def _has_keyword(field: FieldDescriptor) -> bool:
    """Whether a field is declared with `optional`."""
    if field.containing_oneof is not None:
        declared = DescriptorProto()
        field.containing_type.CopyToProto(declared)
        return any(one.name == field.name and one.proto3_optional for one in declared.field)
    return _syntax(field.file) in ("", "proto2") and not (field.is_repeated or field.is_required)


@lru_cache(maxsize=16)
def _syntax(file: FileDescriptor) -> str:
    declared = FileDescriptorProto()
    file.CopyToProto(declared)
    return str(declared.syntax)


def _of_entry(name: str) -> str:
    """Name the map of an entry, as Confluent does: `AllTagsEntry` is of `all_tags`."""
    stem = name.removesuffix("Entry")
    return "".join(f"_{one.lower()}" if one.isupper() and at else one.lower() for at, one in enumerate(stem))


def _text(value: str | bytes) -> str:
    """Check a text that only proto3 has checked: it comes as bytes where it is not UTF-8."""
    if isinstance(value, bytes):
        raise UnfitRecord("a text is not UTF-8")
    return value


def _single(value: float) -> float | str:
    return float(str(np.float32(value))) if math.isfinite(value) else _double(value)


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


_FLOATS: dict[int, Convert] = {FieldDescriptor.TYPE_FLOAT: _single, FieldDescriptor.TYPE_DOUBLE: _double}
