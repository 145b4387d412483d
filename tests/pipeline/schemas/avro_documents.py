"""Random Avro schemas, and records of them as fastavro writes them."""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import fastavro

Value = Callable[[], Any]
TIMES = {
    "date": ("int", 20_000),
    "time-millis": ("int", 86_400_000),
    "time-micros": ("long", 86_400_000_000),
    "timestamp-millis": ("long", 1_700_000_000_000),
    "timestamp-micros": ("long", 1_700_000_000_000_000),
    "timestamp-nanos": ("long", 1_700_000_000_000_000_000),
    "local-timestamp-millis": ("long", 1_700_000_000_000),
}
SIMPLE = ("boolean", "int", "long", "float", "double", "string", "bytes")
NESTED = ("record", "array", "map", "union")
ODD = (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 0.1, 1e22)


@dataclass
class Documents:
    """Makes schemas and values by chance, the same ones for the same seed."""

    chance: Random

    def __post_init__(self) -> None:
        self._names = count()

    def record(self, depth: int = 2) -> tuple[Any, Value]:
        """A record with one to five fields."""
        name = f"T{next(self._names)}"
        fields = {f"f{number}": self.type(depth) for number in range(self.chance.randint(1, 5))}
        schema = {
            "type": "record",
            "name": name,
            "fields": [{"name": key, "type": of} for key, (of, _) in fields.items()],
        }
        return schema, lambda: {key: value() for key, (_, value) in fields.items()}

    def type(self, depth: int) -> tuple[Any, Value]:
        """Any type but null alone."""
        chance = self.chance
        of = ("fixed", "enum", "decimal", "time", "nullable", "nullable")
        kind = chance.choice((*SIMPLE, *of, *(NESTED if depth else ())))
        if kind in SIMPLE:
            return kind, lambda: self.simple(kind)
        if kind == "record":
            return self.record(depth - 1)
        name = f"T{next(self._names)}"
        if kind == "fixed":
            size = chance.randint(0, 4)
            return {"type": kind, "name": name, "size": size}, lambda: chance.randbytes(size)
        if kind == "enum":
            symbols = ["A", "B", "C"][: chance.randint(1, 3)]
            return {"type": kind, "name": name, "symbols": symbols}, lambda: chance.choice(symbols)
        if kind == "decimal":
            return self._decimal(name)
        if kind == "time":
            logical = chance.choice(list(TIMES))
            of_, near = TIMES[logical]
            schema = {"type": of_, "logicalType": logical}
            return schema, lambda: self.simple(of_) if chance.random() < 0.05 else chance.randrange(near)
        if kind == "nullable":
            inner, value = self.type(depth)
            if isinstance(inner, list):
                return inner, value
            both = ["null", inner] if chance.random() < 0.5 else [inner, "null"]
            return both, lambda: None if chance.random() < 0.4 else value()
        if kind == "union":
            chosen = chance.sample(["null", "int", "string", "double"], chance.randint(2, 4))
            return chosen, lambda: self._one_of(chosen)
        inner, value = self.type(depth - 1)
        if kind == "array":
            return {"type": kind, "items": inner}, lambda: [value() for _ in range(chance.choice([0, 0, 1, 2, 5]))]
        return {"type": kind, "values": inner}, lambda: {self.text(): value() for _ in range(chance.choice([0, 1, 3]))}

    def simple(self, kind: str) -> Any:
        """A value of a type without a name."""
        chance = self.chance
        match kind:
            case "boolean":
                return chance.random() < 0.5
            case "int" | "long":
                bits = chance.randint(1, 31 if kind == "int" else 63)
                return chance.choice([chance.randrange(-(1 << bits), 1 << bits), 0, -1, 63, 64, -(1 << bits)])
            case "float":
                return struct.unpack("<f", chance.randbytes(4))[0] if chance.random() < 0.7 else chance.choice(ODD)
            case "double":
                return struct.unpack("<d", chance.randbytes(8))[0] if chance.random() < 0.7 else chance.choice(ODD)
            case "string":
                return self.text()
        return chance.randbytes(chance.randint(0, 5))

    def text(self) -> str:
        return "".join(self.chance.choices('ab é€😀\0"\\', k=self.chance.randint(0, 5)))

    def _one_of(self, chosen: Sequence[str]) -> Any:
        kind = self.chance.choice(chosen)
        return None if kind == "null" else (kind, self.simple(kind))

    def _decimal(self, name: str) -> tuple[Any, Value]:
        chance = self.chance
        of = {"logicalType": "decimal", "precision": 20, "scale": chance.randint(0, 4)}
        if chance.random() < 0.5:
            most = chance.choice([8, 18])
            odd = [0, 16, 17, 18]
            sizes = odd if chance.random() < 0.1 else range(1, min(most, 15) + 1)
            return {"type": "bytes", **of}, lambda: chance.randbytes(chance.choice(sizes))
        size = chance.choice([1, 8, 9, 15, 16, 17])
        return {"type": "fixed", "name": name, "size": size, **of}, lambda: chance.randbytes(size)

    def damaged(self, values: Sequence[bytes]) -> list[bytes]:
        """Some of the values cut, with a byte changed, or with bytes more."""
        chance, found = self.chance, list(values)
        for place in chance.sample(range(len(found)), chance.choice([0, 1, 4])):
            value = bytearray(found[place])
            where = chance.randint(0, len(value))
            match chance.choice(["cut", "byte", "more"]):
                case "cut":
                    del value[where:]
                case "byte" if where < len(value):
                    value[where] = chance.choice([0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF])
                case _:
                    value[where:where] = chance.randbytes(chance.randint(1, 12))
            found[place] = bytes(value)
        return found


def written(schema: Any, values: Sequence[Any]) -> list[bytes]:
    """The bytes of values, whose logical types are left to us."""
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema).replace("logicalType", "comment")))
    found = []
    for value in values:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        found.append(out.getvalue())
    return found
