"""The verdict: is a JSON record *plain*, so that arrow-json decodes it without leniency?

A record is plain when every field has the type the table wants and, where asked, no field is unknown. The rules are
those where arrow-json and the strict converter agree; every other record needs care.
"""

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Optional

import msgspec

from frazil.pipeline.convert.origins import DECIMAL
from frazil.pipeline.types import Field, List, Map, Struct, Type

Decoder = Callable[[bytes], Any]

_SCALARS: dict[str, Any] = {
    "boolean": bool,
    "int": Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)],
    "long": Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)],
    "float": Annotated[float, msgspec.Meta(ge=-3.4028234e38, le=3.4028234e38)],
    "double": float,
    "string": str,
    "date": dt.date,
    "timestamp": Annotated[dt.datetime, msgspec.Meta(tz=False)],
    "timestamptz": dt.datetime,
}


def decoder(struct: Struct, *, forbid_unknown: bool, markers: Iterable[str] = (), raw: Iterable[str] = ()) -> Decoder:
    """Make a function that raises for a record that is not plain.

    It raises `msgspec.MsgspecError` or ValueError (invalid UTF-8) or RecursionError (nested too deeply).
    `markers` are top-level names that make a record need care even when unknown fields are allowed.
    `raw` are top-level columns that are not judged; the result carries their JSON text as `msgspec.Raw` (or None)
    in attributes named `c0`, `c1` … in the order of the columns in `struct`.
    """
    if not _expressible(struct) or _is_renamed(struct):
        return _never_plain
    raw = set(raw)
    names = {f.name for f in struct.fields}
    definitions: list[Any] = []
    rename: dict[str, str] = {}
    for index, field in enumerate(struct.fields):
        attribute = f"c{index}"
        if field.name not in field.members:
            continue
        rename[attribute] = field.name
        definitions.append(
            (attribute, msgspec.Raw, None) if field.name in raw else _definition(attribute, field, forbid_unknown)
        )
    for index, name in enumerate(n for n in markers if n not in names):
        rename[f"m{index}"] = name
        definitions.append((f"m{index}", None, None))
    return msgspec.json.Decoder(_record(struct, definitions, rename, forbid_unknown)).decode


def _never_plain(value: bytes) -> Any:
    raise msgspec.ValidationError("a column name cannot be expressed")


def _is_renamed(struct: Struct) -> bool:
    """Whether a required column is never found under its own name."""
    return any(f.required and f.name not in f.members for f in struct.fields)


def _expressible(struct: Struct) -> bool:
    """Whether msgspec can rename fields to all names; no record is plain where it cannot."""
    names = [*(f.name for f in struct.fields), *struct.ignored]
    return not any(c in '"\\' or c < " " for name in names for c in name)


def _record(struct: Struct, definitions: list[Any], rename: dict[str, str], forbid_unknown: bool) -> Any:
    definitions = list(definitions)
    for index, name in enumerate(struct.ignored if forbid_unknown else ()):
        rename[f"i{index}"] = name
        definitions.append((f"i{index}", msgspec.Raw, None))
    required = [d for d in definitions if len(d) == 2]
    optional = [d for d in definitions if len(d) == 3]
    return msgspec.defstruct(
        "Record", required + optional, rename=rename, forbid_unknown_fields=forbid_unknown, gc=False
    )


def _definition(attribute: str, field: Field, forbid_unknown: bool) -> Any:
    kind = _python_type(field.type, forbid_unknown)
    return (attribute, kind) if field.required else (attribute, _nullable(kind), None)


def _python_type(type_: Type, forbid_unknown: bool) -> Any:
    """Give the msgspec type; `None` where no value of the type is plain (only null and absence are)."""
    match type_:
        case Struct(fields):
            if not _expressible(type_) or _is_renamed(type_):
                return None
            known = [(f"c{i}", f) for i, f in enumerate(fields) if f.name in f.members]
            rename = {attribute: f.name for attribute, f in known}
            definitions = [_definition(attribute, f, forbid_unknown) for attribute, f in known]
            return _record(type_, definitions, rename, forbid_unknown)
        case List(element, required):
            inner = _python_type(element, forbid_unknown)
            return list.__class_getitem__(inner if required else _nullable(inner))
        case Map(key, value, required):
            if str(key) != "string":
                return None
            inner = _python_type(value, forbid_unknown)
            return dict.__class_getitem__((str, inner if required else _nullable(inner)))
        case _:
            return None if type_.origin == DECIMAL else _SCALARS.get(type_.kind)


def _nullable(kind: Any) -> Any:
    return Optional[kind]  # noqa: UP045 - `None | None` is not a type expression
