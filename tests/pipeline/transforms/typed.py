"""Random values with schemas in JsonConverter's form, and types as they are compared."""

from __future__ import annotations

from random import Random
from typing import Any

from frazil.pipeline.types import Type, inner_types

TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"


def of(chance: Random) -> tuple[dict[str, Any], Any]:
    """A schema, and a value."""
    optional = chance.random() < 0.5
    kind = chance.choice(["int32", "int64", "double", "boolean", "string", "time", "struct", "array"])
    schema: dict[str, Any] = {"type": kind, "optional": optional}
    value: Any = None
    match kind:
        case "int32" | "int64":
            value = chance.choice([0, 5, -7, 2**31 - 1, *([2**40] if kind == "int64" else [])])
        case "double":
            value = chance.choice([0.5, -2.25, 100.0])
        case "boolean":
            value = chance.random() < 0.5
        case "string":
            value = chance.choice(["", "x", "12"])
        case "time":
            schema |= {"type": "int64", "name": TIMESTAMP, "version": 1}
            value = 1_700_000_000_000 + chance.randrange(1000)
        case "struct":
            schema["fields"] = [{"type": "int64", "optional": False, "field": "n"}]
            value = {"n": chance.randrange(9)}
        case _:
            schema["items"] = {"type": "string", "optional": False}
            value = ["x"] * chance.randrange(3)
    return schema, None if optional and chance.random() < 0.3 else value


def shape(type_: Type) -> Any:
    found = {name: shape(inner) for name, inner in inner_types(type_)}
    return found if found else str(type_)
