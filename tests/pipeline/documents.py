"""Table schemas with every type, and JSON documents for them: valid, odd and wrong ones."""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st

from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type

SERIAL = Field("serial", Scalar("long"), required=True)
"""Finds the row of a document again: rows come in no particular order."""

SCALARS: dict[str, Scalar] = {
    "boolean": Scalar("boolean"),
    "int": Scalar("int"),
    "long": Scalar("long"),
    "float": Scalar("float"),
    "double": Scalar("double"),
    "decimal": Scalar("decimal", precision=9, scale=2),
    "wide": Scalar("decimal", precision=38, scale=0),
    "string": STRING,
    "uuid": Scalar("uuid"),
    "fixed": Scalar("fixed", length=3),
    "binary": Scalar("binary"),
    "date": Scalar("date"),
    "time": Scalar("time"),
    "timestamp": Scalar("timestamp"),
    "timestamptz": Scalar("timestamptz"),
    "timestamp_ns": Scalar("timestamp_ns"),
    "timestamptz_ns": Scalar("timestamptz_ns"),
}


def struct(*fields: Field) -> Struct:
    return Struct(fields)


FLAT = struct(SERIAL, *(Field(name, type_) for name, type_ in SCALARS.items()))
PLAIN = struct(
    SERIAL,
    *(
        Field(name, SCALARS[name])
        for name in ("boolean", "int", "long", "float", "double", "string", "date", "timestamp", "timestamptz")
    ),
)
_INNER = struct(Field("int", Scalar("int")), Field("text", STRING), Field("when", Scalar("timestamptz")))
_STRICT_INNER = struct(Field("id", Scalar("long"), required=True), Field("name", STRING))
NESTED = struct(
    SERIAL,
    Field("inner", _INNER),
    Field("deep", struct(Field("inner", _INNER), Field("list", List(List(Scalar("double")))))),
    Field("structs", List(_INNER)),
    Field("numbers", List(Scalar("int"), element_required=True)),
    Field("texts", Map(STRING, STRING)),
    Field("counts", Map(STRING, Scalar("long"), value_required=True)),
    Field("map", Map(STRING, _INNER)),
    Field("keyed", Map(Scalar("int"), Scalar("boolean"))),
)
REQUIRED = struct(
    SERIAL,
    Field("name", STRING, required=True),
    Field("when", Scalar("timestamptz"), required=True),
    Field("inner", _STRICT_INNER, required=True),
    Field("more", List(_STRICT_INNER)),
)

_INTEGERS = st.one_of(
    st.integers(-5, 5),
    st.sampled_from([s * (2**b) + d for b in (31, 32, 53, 63, 64) for s in (1, -1) for d in (-1, 0, 1)]),
    st.integers(-(10**40), 10**40),
)
_NUMBERS = st.one_of(
    _INTEGERS.map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-(10**8), 10**8, places=3).map(str),
    st.sampled_from(
        [
            "-0",
            "-0.0",
            "0e5",
            "1e2",
            "1E+2",
            "1.0",
            "15e-1",
            "123e-2",
            "1e-400",
            "1e400",
            "-1e400",
            "3.4028235e38",
            "3.4028236e38",
            "1e-46",
            "16777217",
        ]
        + ["1.00000005960464477539062500001", "1.00000017881393432617187499999", "0.1234567890123456789"]
    ),
)
_CLOCKS = st.one_of(
    st.times().map(str),
    st.sampled_from(
        ["24:00:00", "24:00", "23:59:60", "7:51", "07:51", "10:30:00.", "10:30:00,5", "10:30:00.123456789", "25:00"]
    ),
    st.builds("{:02}:{:02}:{:02}.{}".format, *([st.integers(0, 59)] * 3), st.integers(0, 10**12)),
)
_DATES = st.one_of(
    st.dates().map(str), st.sampled_from(["2025-02-29", "2024-02-29", "0000-01-01", "2025-1-5", "20250105"])
)
_ZONES = st.sampled_from(
    [
        "",
        "Z",
        "z",
        "+00",
        "+00:00",
        "-0800",
        "-08:00",
        "+05:45",
        "+18:30",
        "-23:59",
        "+24:00",
        "+00:60",
        " UTC",
        "[UTC]",
    ]
)
_TIMESTAMPS = st.builds("{}{}{}{}".format, _DATES, st.sampled_from(["T", "t", " ", "", "  "]), _CLOCKS, _ZONES)
_TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [
            "",
            "true",
            "FALSE",
            "yes",
            "+7",
            "-12",
            " 12",
            "123.0",
            "1e3",
            "1.5d",
            " 2.5 ",
            "null",
            "\0",
            "\U0001f600\U00020000",
        ]
    ),
    _NUMBERS,
    _CLOCKS,
    _DATES,
    _TIMESTAMPS,
    st.binary(max_size=4).map(lambda data: base64.b64encode(data).decode()),
    st.sampled_from(["AQID", "AQ", "AQ=", "AQ==", "A", "_-8=", "AQ\nID", "=", "===="]),
    st.uuids().map(str),
    st.sampled_from(["1-1-1-1-1", "f47ac10b58cc4372a5670e02b2c3d479", "g-1-1-1-1", "123456789-1-1-1-1"]),
)


@st.composite
def _quoted(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A JSON text with or without escapes; lone surrogates only as escapes."""
    quoted = json.dumps(draw(texts), ensure_ascii=draw(st.booleans()))
    return draw(st.sampled_from([quoted] * 15 + ['"\\ud800"', '"\\u0000"']))


def _any(depth: int) -> st.SearchStrategy[str]:
    scalars = st.one_of(_quoted(_TEXTS), _NUMBERS, st.sampled_from(["true", "false", "null"]))
    if not depth:
        return scalars
    inner = _any(depth - 1)
    return st.one_of(scalars, scalars, _array(inner), _object(st.tuples(_quoted(_TEXTS), inner)))


def _array(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("[{}]".format, st.lists(items, max_size=3).map(",".join))


def _object(members: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[str]:
    """An object of different names."""
    unique = st.lists(members, max_size=4, unique_by=lambda member: json.loads(member[0]))
    return unique.map(lambda pairs: "{{{}}}".format(",".join(f"{name}:{value}" for name, value in pairs)))


_VALID: dict[str, st.SearchStrategy[str]] = {
    "boolean": st.sampled_from(["true", "false"]),
    "int": st.integers(-(2**31), 2**31 - 1).map(str),
    "long": st.integers(-(2**63), 2**63 - 1).map(str),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    "double": st.floats(allow_nan=False, allow_infinity=False).map(repr),
    "decimal": st.decimals(-(10**6), 10**6, places=2).map(str),
    "string": _quoted(st.text(max_size=10)),
    "uuid": st.uuids().map(lambda value: json.dumps(str(value))),
    "fixed": st.binary(min_size=3, max_size=3).map(lambda data: json.dumps(base64.b64encode(data).decode())),
    "binary": st.binary(max_size=6).map(lambda data: json.dumps(base64.b64encode(data).decode())),
    "date": st.dates().map(lambda day: json.dumps(str(day))),
    "time": st.times().map(lambda time: json.dumps(str(time))),
    "timestamp": st.datetimes().map(lambda moment: json.dumps(moment.isoformat())),
    "timestamptz": st.datetimes().map(lambda moment: json.dumps(moment.isoformat() + "Z")),
}


def value(type_: Type) -> st.SearchStrategy[str]:
    """JSON for a column: mostly what it takes, now and then anything else."""
    match type_:
        case Struct():
            valid = members(type_)
        case List(element):
            valid = _array(value(element))
        case Map(_, item):
            valid = _object(st.tuples(_quoted(st.one_of(st.integers(-3, 3).map(str), _TEXTS)), value(item)))
        case Scalar(kind=kind):
            valid = _VALID[kind.removesuffix("_ns")]
    return st.integers(0, 9).flatmap(lambda draw: valid if draw < 8 else _any(1))


@st.composite
def members(draw: st.DrawFn, columns: Struct) -> str:
    """An object with some of the columns, perhaps one twice, and perhaps a member that has no column."""
    chosen = draw(st.lists(st.sampled_from(columns.fields), max_size=len(columns.fields) + 1))
    if draw(st.integers(0, 3)):
        chosen += [f for f in columns.fields if f.required]
    pairs = [(json.dumps(f.name), draw(value(f.type))) for f in chosen if f is not SERIAL]
    if not draw(st.integers(0, 4)):
        name = draw(st.sampled_from(["zzz", "", "Int", "a.b", 'a"b', "int "]))
        pairs.insert(draw(st.integers(0, len(pairs))), (json.dumps(name), draw(_any(2))))
    space = draw(st.sampled_from(["", "", " ", "\n\t "]))
    return "{{{}}}".format(",".join(f"{space}{name}{space}:{space}{text}{space}" for name, text in pairs))


_BROKEN = st.sampled_from(
    [
        b"",
        b" ",
        b"[1]",
        b"5",
        b'"x"',
        b'{"a":',
        b'{"a":1}{"a":2}',
        b'{"a":1} x',
        b"\xef\xbb\xbf{}",
        b'{"a":"\xff"}',
        b"\0",
    ]
)


@st.composite
def chunks(draw: st.DrawFn, columns: Struct) -> list[bytes]:
    """Consecutive records; each object's last member is its position as `serial`."""
    result: list[bytes] = []
    for serial in range(draw(st.integers(1, 6))):
        if not draw(st.integers(0, 11)):
            result.append(draw(_BROKEN))
            continue
        body = draw(members(columns))[:-1]
        result.append(f'{body}{"," if len(body) > 1 else ""}"serial":{serial}}}'.encode())
    return result


def positions(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {row["serial"]: row for row in rows}
