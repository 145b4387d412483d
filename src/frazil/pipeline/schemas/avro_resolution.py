"""Reading of Avro records that one schema wrote as another one says: Avro's schema resolution.

It is as strict as Avro, and stricter where both schemas give a number a meaning: a decimal of another scale, or a time
of another unit, is refused and not read as a number that it is not.
"""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from frazil.pipeline.schemas.avro import AvroType, branch_names, is_plain_union
from frazil.pipeline.schemas.avro_reader import (
    Compiler,
    Read,
    no_number,
    read_array,
    read_long,
    read_map,
    read_pairs,
    whole,
)
from frazil.pipeline.schemas.connect import PLAIN, ConnectOptions, UnfitRecord

_PROMOTED = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_NAMED = ("record", "enum", "fixed")
_float = struct.Struct("<f").unpack_from


class _Mismatch(Exception):
    """A type that cannot be read as another one; the text says why."""


def resolving_reader(
    written: AvroType, wanted: AvroType, options: ConnectOptions = PLAIN
) -> Callable[[bytes, int], Any]:
    """Make the function that `avro_reader` makes for `wanted`, for records that `written` wrote.

    `wanted` is not inside of itself. It raises UnfitRecord for each record when the schemas do not go together.
    """
    resolver = _Resolver(options)
    try:
        read = resolver.resolve(written, wanted)
    except _Mismatch as error:
        read = _refused(str(error))
    return whole(read, resolver.allowance)


class _Resolver:
    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._alone = Compiler(options)
        self.allowance = self._alone.allowance

    def resolve(self, written: AvroType, wanted: AvroType) -> Read:
        if written.kind == "union":
            return self._of_union(written, wanted)
        if wanted.kind == "union":
            return self._as_union(written, wanted)
        _check_meaning(written, wanted)
        if written.kind != wanted.kind:
            return self._promoted(written, wanted)
        if wanted.kind == "record":
            return self._record(written, wanted)
        if wanted.kind == "enum":
            return _enum(written, wanted)
        if wanted.kind == "fixed" and (_short(written), written.size) != (_short(wanted), wanted.size):
            raise _Mismatch(f"{_shown(written)} is not {_shown(wanted)}")
        if written.inner is None or wanted.inner is None:
            return self._alone.compile(wanted)
        size = self._alone.size(written.inner, wanted.inner, key=wanted.kind == "map")
        if wanted.kind == "map":
            return read_map(self._lazily(written.inner, wanted.inner), size)
        if not wanted.inner.is_map_entry:
            return read_array(self._lazily(written.inner, wanted.inner), size)
        if not written.inner.is_map_entry:
            raise _Mismatch("an array is no map")
        key, value = (
            self._lazily(one, other)
            for (_, one, _), (_, other, _) in zip(written.inner.fields, wanted.inner.fields, strict=True)
        )
        return read_pairs(key, value, size, as_object=wanted.inner.fields[0][1].kind == "string")

    def _lazily(self, written: AvroType, wanted: AvroType) -> Read:
        """Resolve a type of which a record may have no value: what does not go together fails with the first one."""
        try:
            return self.resolve(written, wanted)
        except _Mismatch as error:
            return _refused(str(error))

    def _promoted(self, written: AvroType, wanted: AvroType) -> Read:
        if wanted.kind not in _PROMOTED.get(written.kind, ()):
            raise _Mismatch(f"{_shown(written)} is not {_shown(wanted)}")
        change = _CHANGES[wanted.kind]
        read = _digits_of_float if written.kind == "float" else self._alone.compile(written)

        def changed(data: bytes, at: int) -> tuple[Any, int]:
            value, at = read(data, at)
            return change(value), at

        return changed

    def _of_union(self, written: AvroType, wanted: AvroType) -> Read:
        branches = [self._lazily(branch, wanted) for branch in written.branches]

        def read(data: bytes, at: int) -> tuple[Any, int]:
            index, at = read_long(data, at)
            if not 0 <= index < len(branches):
                raise UnfitRecord(f"a union of {len(branches)} types has none at {index}")
            return branches[index](data, at)

        return read

    def _as_union(self, written: AvroType, wanted: AvroType) -> Read:
        index = self._branch(written, wanted)
        read, wrap = self.resolve(written, wanted.branches[index]), _wrapping(wanted, index, self._options)

        def wrapped(data: bytes, at: int) -> tuple[Any, int]:
            value, at = read(data, at)
            return wrap(value), at

        return wrapped

    def _branch(self, written: AvroType, wanted: AvroType) -> int:
        """Find the branch that a type is read as: the one of its kind and name, a like record, or a wider one."""
        same = [index for index, branch in enumerate(wanted.branches) if branch.kind == written.kind]
        if written.kind not in _NAMED:
            if same:
                return same[0]
        else:
            for index in same:
                if wanted.branches[index].name == written.name:
                    return index
            like = [index for index in same if written.kind == "record" and self._fits(written, wanted.branches[index])]
            if like:
                return next((index for index in like if _short(wanted.branches[index]) == _short(written)), like[0])
        for index, branch in enumerate(wanted.branches):
            if branch.kind in _PROMOTED.get(written.kind, ()):
                return index
        raise _Mismatch(f"a union has no type for {_shown(written)}")

    def _fits(self, written: AvroType, wanted: AvroType) -> bool:
        try:
            self.resolve(written, wanted)
        except _Mismatch:
            return False
        return True

    def _record(self, written: AvroType, wanted: AvroType) -> Read:
        types = {name: type_ for name, type_, _ in written.fields}
        source: dict[str, str] = {}
        start: dict[str, Any] = {}
        for name, type_, declared in wanted.fields:
            known = (one for one in (name, *declared.get("aliases", ())) if one in types and one not in source)
            found = next(known, None)
            if found is not None:
                source[found] = name
            elif "default" not in declared:
                raise _Mismatch(f"the field {name} was not written and has no default value")
            start[name] = None if found is not None else self._default(type_, declared["default"])
        into = {name: type_ for name, type_, _ in wanted.fields}
        members = [
            (
                source.get(name),
                self.resolve(type_, into[source[name]]) if name in source else self._alone.compile(type_),
            )
            for name, type_, _ in written.fields
        ]

        def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
            value = dict(start)
            for name, member in members:
                found, at = member(data, at)
                if name is not None:
                    value[name] = found
            return value, at

        return read

    def _default(self, type_: AvroType, value: Any) -> Any:
        """Make the value of a default, which stands in a schema as Avro writes JSON."""
        match type_.kind, value:
            case "union", _:
                return self._default_of_union(type_, value)
            case ("null", None) | ("boolean", bool()) | ("string", str()):
                return value
            case "enum", str() if value in type_.symbols:
                return value
            case "int" | "long", int() if not isinstance(value, bool):
                return value
            case "float" | "double", int() | float() if not isinstance(value, bool):
                return _CHANGES[type_.kind](value)
            case "bytes" | "fixed", str():
                return value.encode("latin-1")
            case "array", list() if type_.inner is not None:
                items = [self._default(type_.inner, item) for item in value]
                if not type_.inner.is_map_entry:
                    return items
                pairs = [[item["key"], item["value"]] for item in items]
                return dict(pairs) if type_.inner.fields[0][1].kind == "string" else pairs
            case "map", dict() if type_.inner is not None:
                return {key: self._default(type_.inner, item) for key, item in value.items()}
            case "record", dict():
                given = {
                    name: declared["default"] for name, _, declared in type_.fields if "default" in declared
                } | value
                if all(name in given for name, *_ in type_.fields):
                    return {name: self._default(member, given[name]) for name, member, _ in type_.fields}
        raise _Mismatch(f"a default value is not {_shown(type_)}")

    def _default_of_union(self, type_: AvroType, value: Any) -> Any:
        for index, branch in enumerate(type_.branches):
            try:
                return _wrapping(type_, index, self._options)(self._default(branch, value))
            except _Mismatch:
                continue  # the next branch may have it
        raise _Mismatch("a default value is of no type of its union")


def _wrapping(union: AvroType, index: int, options: ConnectOptions) -> Callable[[Any], Any]:
    """Make the function that gives a value of a branch the form that values of the union have."""
    if union.branches[index].kind == "null" or is_plain_union(union, flatten=options.flatten):
        return _as_it_is
    names = branch_names(union, options)
    empty = {name: None for name, branch in zip(names, union.branches, strict=True) if branch.kind != "null"}
    return lambda value: {**empty, names[index]: value}


def _as_it_is(value: Any) -> Any:
    return value


def _enum(written: AvroType, wanted: AvroType) -> Read:
    if _short(written) != _short(wanted):
        raise _Mismatch(f"{_shown(written)} is not {_shown(wanted)}")
    default = wanted.props.get("default")
    symbols = [symbol if symbol in wanted.symbols else default for symbol in written.symbols]

    def read(data: bytes, at: int) -> tuple[str, int]:
        index, at = read_long(data, at)
        if not 0 <= index < len(symbols):
            raise UnfitRecord(f"an enum of {len(symbols)} symbols has none at {index}")
        symbol = symbols[index]
        if symbol is None:
            raise UnfitRecord(f"the enum {_short(wanted)} has no symbol {written.symbols[index]} any more")
        return symbol, at

    return read


def _check_meaning(written: AvroType, wanted: AvroType) -> None:
    one, other = (type_.props.get("logicalType") for type_ in (written, wanted))
    if one and other and (one != other or (one == "decimal" and _scale(written) != _scale(wanted))):
        raise _Mismatch(f"{_shown(written)} is not {_shown(wanted)}")


def _scale(type_: AvroType) -> Any:
    return type_.props.get("scale", 0)


def _short(type_: AvroType) -> str:
    return type_.name.rpartition(".")[2]


def _shown(type_: AvroType) -> str:
    logical = type_.props.get("logicalType")
    scale = f" of scale {_scale(type_)}" if logical == "decimal" else ""
    return " ".join(filter(None, (type_.kind, type_.name, logical and f"({logical}{scale})")))


def _refused(reason: str) -> Read:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        raise UnfitRecord(reason)

    return read


def _digits_of_float(data: bytes, at: int) -> tuple[float, int]:
    return _float(data, at)[0], at + 4


def _single(value: float) -> float | str:
    found = np.float32(value)
    return float(str(found)) if np.isfinite(found) else no_number(float(found))


def _double(value: float) -> float | str:
    return float(value) if np.isfinite(value) else no_number(value)


_CHANGES: dict[str, Callable[[Any], Any]] = {
    "long": _as_it_is,
    "float": _single,
    "double": _double,
    "bytes": str.encode,
    "string": bytes.decode,
}
"""Changes of a value of a narrower type, by the wider one."""
