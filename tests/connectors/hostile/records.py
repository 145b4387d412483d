"""Records that a sink has to survive, made from a seed: values of every type in every form, right, odd and wrong.

`id` is the number of the record, where the record has a place for it at all.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Mapping

from frazil.pipeline.types import STRING, Field, List, Map, Scalar, ScalarKind, Struct

KINDS: tuple[ScalarKind, ...] = ("boolean", "int", "long", "float", "double", "string", "uuid", "binary")
TIMES: tuple[ScalarKind, ...] = ("date", "time", "timestamp", "timestamptz")
_INNER = Struct((Field("a", Scalar("double")), Field("b", STRING), Field("when", Scalar("timestamptz"))))
COLUMNS = Struct(
    (
        Field("id", Scalar("long"), required=True),
        *(Field(kind, Scalar(kind)) for kind in (*KINDS, *TIMES)),
        Field("decimal", Scalar("decimal", 9, 2)),
        Field("wide", Scalar("decimal", 38, 0)),
        Field("fixed", Scalar("fixed", length=3)),
        Field("inner", _INNER),
        Field("list", List(Scalar("float"))),
        Field("map", Map(STRING, Scalar("long"))),
    )
)
_RIGHT: Mapping[str, tuple[str, ...]] = {
    "boolean": ("true", "false", '"true"'),
    "int": ("0", "-2147483648", '"12"', "1e2"),
    "long": ("9223372036854775807", "-0", '"-7"', "1.0"),
    "float": ("0.1", "16777216", "-1.5e10", '"2.5"'),
    "double": ("0.1", "1e300", "9007199254740992", '"1.5"', "-0.0"),
    "string": ('"x"', '"\\ud83d\\ude00\\u0000"', "1.50", '{"a": [1]}', "[]", '""', '"é"'),
    "uuid": ('"f47ac10b-58cc-4372-a567-0e02b2c3d479"', '"1-1-1-1-1"'),
    "binary": ('"AQID"', '""', '"AQ"'),
    "date": ('"2025-01-31"', "20089", '"0001-01-01"', '"9999-12-31"'),
    "time": ('"10:30:00.123456789"', "0", '"07:51"'),
    "timestamp": ('"2025-01-31T10:30:00"', "1736937000123", '"2025-01-31 10:30:00-08:00"'),
    "timestamptz": ('"2025-01-31T10:30:00.123456789Z"', "-1", '"2025-01-31t10:30:00+0545"'),
    "decimal": ("12.34", '"-0.5"', "1e2", "9999999.99"),
    "wide": ("9" * 38, "-1", '"12345678901234567890"', "1e20"),
    "fixed": ('"AQID"',),
    "inner": ('{"a":1.5,"b":"x","when":"2025-01-31T10:30:00Z"}', "{}", '{"a":null,"b":[1]}'),
    "list": ("[]", "[0.1,null,16777216]"),
    "map": ('{"a":1}', "{}", '{"":0,"é":null}'),
}
_ODD = (
    *("9007199254740993", "16777217", "3.141592653589793", "1e400", "-1e400", "1e-400", "1E99999999999999999999"),
    *("1e-99999999999999999999", "-9223372036854775809", "1" * 400, "0." + "3" * 400, "18446744073709551616"),
    *('"00501"', '"+49"', '"1.20"', '"TRUE"', '"NaN"', '"Infinity"', '"-0"', '"1_0"', '"١"', '" 1"', '"1e999"'),
    *('"' + "9" * 3000 + 'x"', '"2025-02-29"', '"24:00"', '"2025-01-31T10:30:60Z"', '"9999-12-31T23:59:59-01:00"'),
    *('"0000-01-01"', "1772323200000000", "-62135596800001", "253402300800000", '"2025-01-31T10:30:00[UTC]"'),
    *('"_-8="', '"A"', '"===="', '"AQIDBA=="', '"g-1-1-1-1"', '"\\ud800"', '"\\u0000"', '"\\u2028\\u0085"'),
    *(
        "null",
        "{}",
        "[]",
        "[null]",
        "[[1],{}]",
        '{"a":1}',
        '{"a":{"a":{}}}',
        '{"":1}',
        '{"a":1,"a":"x"}',
        '{"A":1,"a":2}',
    ),
    *('{"a":9007199254740993}', "[16777217]", '{"a":1.5,"b":2}', '{"x.y":1,"x":{"y":2}}', "[" * 40 + "]" * 40),
    *('{"n":' * 40 + "1" + "}" * 40, '{"when":1}', '{"b":"\\udc00"}', "true", "0", '"x"', '{"1":1,"1.0":2}'),
)
_DOCUMENTS: tuple[Callable[[bytes], bytes | None], ...] = (
    lambda text: None,
    lambda text: b"null",
    lambda text: b"",
    lambda text: b" \t\r\n",
    lambda text: b"[%b]" % text,
    lambda text: b'"x"',
    lambda text: b"5",
    lambda text: text[:-1],
    lambda text: text + b"x",
    lambda text: text + text,
    lambda text: text + b"\0",
    lambda text: b"\xef\xbb\xbf" + text,
    lambda text: text.decode().encode("utf-16"),
    lambda text: text.replace(b":", b":\xff", 1),
    lambda text: b" \n" + text + b"\n ",
    lambda text: text[:-1] + b',"\\ud800":1}',
    lambda text: text[:-1] + b',"":1}',
    lambda text: text[:-1] + b',"ID":1,"Id":2}',
    lambda text: text[:-1] + b',"inner.a":1}',
    lambda text: text[:-1] + b',"s":"a\nb"}',
    lambda text: text[:-1] + b',"deep":' + b"[" * 2000 + b"]" * 2000 + b"}",
    lambda text: text[:-1] + b',"deep":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
    lambda text: text[:-1] + b"," + b",".join(b'"n%d":1' % i for i in range(1200)) + b"}",
    lambda text: text[:-1] + b',"%b":1}' % (b"n" * 5000),
    lambda text: text[:-1] + b',"' + "\U0001f600 \x7f\u202e'`;--".encode() + b'":1}',
)
_CONNECT, _DEBEZIUM = "org.apache.kafka.connect.data.", "io.debezium.time."
_SCHEMAS: Mapping[str, tuple[str, str]] = {
    "i8": ("int8", ""), "i32": ("int32", ""), "i64": ("int64", ""), "f": ("float", ""), "d": ("double", ""),
    "b": ("boolean", ""), "s": ("string", ""), "by": ("bytes", ""), "dec": ("bytes", _CONNECT + "Decimal"),
    "day": ("int32", _CONNECT + "Date"), "ms": ("int64", _CONNECT + "Timestamp"), "t": ("int32", _CONNECT + "Time"),
    "us": ("int64", _DEBEZIUM + "MicroTimestamp"), "ns": ("int64", _DEBEZIUM + "NanoTimestamp"),
    "z": ("string", _DEBEZIUM + "ZonedTimestamp"), "own": ("int64", "com.example.Own"),
}  # fmt: skip
_GIVEN: Mapping[str, tuple[object, ...]] = {
    "int8": (1, -128), "int32": (20089, 0, -1), "int64": (68_256_000_000_000, 9007199254740993, 0),
    "float": (0.5, "NaN"), "double": (0.1, "Infinity"), "boolean": (True,), "string": ("x", "NaN", "00501"),
    "bytes": (base64.b64encode(b"\1\2").decode(), "", "?"),
}  # fmt: skip


class Records:
    """Makes records; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def plain(self, count: int) -> list[bytes | None]:
        """Records for `COLUMNS`, without a schema: about half of them as they should be."""
        return [self._plain(number) for number in range(count)]

    def enveloped(self, count: int) -> list[bytes | None]:
        """Records of JsonConverter with their schemas, those of Debezium in about half of them."""
        return [self._enveloped(number) for number in range(count)]

    def _plain(self, number: int) -> bytes | None:
        names = self._random.sample([*_RIGHT], self._random.randint(1, 6))
        members = {name: self._random.choice(_RIGHT[name]) for name in names}
        fault = self._random.random()
        if fault < 0.35:
            members[self._random.choice([*names, "other", "id.x"])] = self._random.choice(_ODD)
        inside = ",".join(f"{json.dumps(name)}:{value}" for name, value in members.items())
        text = f'{{"id":{number},{inside}}}'.encode()
        return self._random.choice(_DOCUMENTS)(text) if fault > 0.85 else text

    def _enveloped(self, number: int) -> bytes | None:
        names = self._random.sample([*_SCHEMAS], self._random.randint(1, 5))
        fields = [self._field(name) for name in names]
        row = {"id": number} | {name: self._random.choice((None, *_GIVEN[_SCHEMAS[name][0]])) for name in names}
        schema = {"type": "struct", "fields": [{"type": "int64", "field": "id"}, *fields]}
        fault = self._random.random()
        if fault < 0.3:
            schema = {"type": "struct", "fields": [schema | {"field": "after", "name": "s.Value"}]}
            row = {"after": row}
        elif fault < 0.4:
            self._random.choice(fields)["type"] = self._random.choice(["int99", "string", "map", "int64", 5])
        text = json.dumps({"schema": None if 0.4 < fault < 0.45 else schema, "payload": row}).encode()
        return self._random.choice(_DOCUMENTS)(text) if fault > 0.85 else text

    @staticmethod
    def _field(name: str) -> dict[str, object]:
        type_, logical = _SCHEMAS[name]
        found: dict[str, object] = {"type": type_, "field": name, "optional": True}
        if logical:
            found["name"] = logical
        return found | {"parameters": {"scale": "2"}} if logical.endswith("Decimal") else found
