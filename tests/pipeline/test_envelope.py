"""Records with their schemas."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline.convert.decode import DecodeSpec, RecordDecoder
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.envelope import JsonEnvelope, columns_of, opened
from frazil.pipeline.results import TableResult
from frazil.pipeline.rows import Rows
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import ANY_COLUMNS, TableSpec, TaskSpec
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct
from tests.pipeline.test_task import Memory, batch
from tests.pipeline.transforms.chains import chain

Json = dict[str, Any]
CONNECT = "org.apache.kafka.connect.data."
LONG = Scalar("long")


def of(type_: str, **more: Any) -> Json:
    return {"type": type_, "optional": True, **more}


def struct(**fields: Json) -> Json:
    return of("struct", fields=[{**schema, "field": name} for name, schema in fields.items()])


def decimal(scale: int) -> Json:
    return of("bytes", name=f"{CONNECT}Decimal", parameters={"scale": str(scale)})


def unscaled(value: int) -> str:
    return base64.b64encode(value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)).decode()


def record(schema: Json | None, payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}).encode()


def chunk(*records: bytes | None) -> Rows:
    (only,) = batch([(value, "t", 0, offset) for offset, value in enumerate(records)])
    return only


def result(columns: Struct, *records: bytes | None, evolve: bool = True, **more: Any) -> tuple[TableResult, Memory]:
    rows = batch([(value, "t", 0, offset) for offset, value in enumerate(records)])
    writer = Memory()
    table = TableSpec("db.t", DecodeSpec(columns, evolve, **more), writer)
    return run(rows, TaskSpec((table,), envelope=JsonEnvelope())).tables["db.t"], writer


def shown(found: TableResult) -> dict[str, str]:
    return {".".join(path): str(type_) for path, type_ in found.unknown.items()}


ALL = struct(
    i8=of("int8"), i32=of("int32"), l=of("int64"), f=of("float"), d=of("double"), b=of("boolean"), s=of("string"),
    by=of("bytes"), dec=decimal(2), da=of("int32", name=f"{CONNECT}Date"), ti=of("int32", name=f"{CONNECT}Time"),
    ts=of("int64", name=f"{CONNECT}Timestamp"), li=of("array", items=decimal(1)),
    ma=of("map", keys=of("string"), values=of("int64")), mi=of("map", keys=of("int32"), values=decimal(0)),
    st=struct(x=of("int64"), y=struct(z=decimal(3))),
)  # fmt: skip


def test_types_of_new_columns_are_those_of_the_schema() -> None:
    """Values or not: what is null today has a type already."""
    found, _ = result(Struct(()), record(ALL, {"i8": 1}))
    assert shown(found) == {
        "i8": "int", "i32": "int", "l": "long", "f": "float", "d": "double", "b": "boolean", "s": "string",
        "by": "binary", "dec": "decimal(38,2)", "da": "date", "ti": "time", "ts": "timestamptz",
        "li": "list<decimal(38,1)>", "ma": "map<string, long>", "mi": "map<int, decimal(38,0)>",
        "st": "struct<x: long, y: struct<z: decimal(38,3)>>",
    }  # fmt: skip


def test_columns_of_debezium_have_the_types_that_connect_gives_them() -> None:
    names = {"int32": ("Date", "Time", "Year"), "int64": ("MicroTime", "Timestamp", "NanoTimestamp", "MicroDuration")}
    members = {
        f"{name}_{type_}": of(type_, name=f"io.debezium.time.{name}") for type_ in names for name in names[type_]
    }
    members["zoned"] = of("string", name="io.debezium.time.ZonedTimestamp")
    members |= {name: of("string", name=f"io.debezium.data.{name}") for name in ("Json", "Enum", "Uuid")}
    members["bits"] = of("bytes", name="io.debezium.data.Bits")
    variable = {**struct(scale=of("int32"), value=of("bytes")), "name": "io.debezium.data.VariableScaleDecimal"}
    point = struct(x=of("double"), y=of("double"), wkb=of("bytes"), srid=of("int32"))
    columns = columns_of(json.dumps(struct(**members, variable=variable, point=point)).encode())
    assert columns is not None
    kinds = {field.name: str(field.type) for field in columns.fields}
    assert set(kinds.values()) == {
        "int", "long", "string", "binary", "struct<scale: int, value: binary>",
        "struct<x: double, y: double, wkb: binary, srid: int>",
    }  # fmt: skip
    assert all(kinds[name] == {"int32": "int", "int64": "long"}[name.split("_")[1]] for name in members if "_" in name)


def test_values() -> None:
    columns = _columns(ALL)
    payload = {
        "i8": -1, "i32": 2, "l": 3, "f": 0.5, "d": 1.5, "b": True, "s": "x", "by": "AQID", "dec": unscaled(-12345),
        "da": 19676, "ti": 28290888, "ts": 1684408953000, "li": [unscaled(15), None], "ma": {"a": 1},
        "mi": [[1, unscaled(10**30)], [2, None]], "st": {"x": 1, "y": {"z": unscaled(1)}},
    }  # fmt: skip
    found, writer = result(columns, record(ALL, payload), record(ALL, dict.fromkeys(payload)), None)
    assert (found.unknown, found.dead, found.skipped) == ({}, [], {"tombstone": 1})
    row = next(r for r in pa.concat_tables(writer.tables).to_pylist() if r["l"] == 3)
    assert (row["dec"], row["li"], row["by"]) == (Decimal("-123.45"), [Decimal("1.5"), None], b"\1\2\3")
    assert row["mi"] == [(1, Decimal(10**30)), (2, None)]
    assert row["st"] == {"x": 1, "y": {"z": Decimal("0.001")}}
    assert str(row["ts"]) == "2023-05-18 11:22:33+00:00"
    assert str(row["da"]) == "2023-11-15"


@pytest.mark.parametrize("default", ["false", 0, 1.5, True, None, "AQ==", {"x": 1}, [1]])
def test_schemas_with_defaults_and_descriptions_are_read(default: Any) -> None:
    """Debezium's have a default for `snapshot`; Kafka Connect overlooks what is wrong in these."""
    schema = struct(a=of("string", default=default, doc="what it is"), b=of("int64", doc=7, optional="no"))
    found, writer = result(_columns(schema, b=1), record(schema, {"a": "x", "b": 1}))
    assert (found.dead, pa.concat_tables(writer.tables).to_pylist()) == ([], [{"a": "x", "b": 1}])


@pytest.mark.parametrize("pairs", ['[[1,"v"],[1,"w"]]', '[[1,"v"],["1","w"]]', '[[null,"v"]]'])
def test_a_map_with_a_key_twice_or_none_makes_a_bad_record(pairs: str) -> None:
    schema = struct(m=of("map", keys=of("int32"), values=of("string")))
    bad = b'{"schema":%b,"payload":{"m":%b}}' % (json.dumps(schema).encode(), pairs.encode())
    found, writer = result(_columns(schema), record(schema, {"m": [[1, "v"], [2, "w"]]}), bad)
    assert [
        (letter.offset, "a map has a key twice" in letter.reason or "is null" in letter.reason) for letter in found.dead
    ] == [(1, True)]
    assert [table.to_pylist() for table in writer.tables] == [[{"m": [(1, "v"), (2, "w")]}]]


KEYS = [
    (of("int32", name=f"{CONNECT}Date"), 19676, dt.date(2023, 11, 15)),
    (of("int32", name=f"{CONNECT}Time"), 1500, dt.time(0, 0, 1, 500000)),
    (of("int64", name=f"{CONNECT}Timestamp"), -1000, dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=dt.UTC)),
    (decimal(2), unscaled(-12345), Decimal("-123.45")),
    (decimal(0), unscaled(10**30), Decimal(10**30)),
    (of("double"), 1.0e-7, 1.0e-7),
    (of("float"), "Infinity", math.inf),
    (of("bytes"), "AQID", b"\1\2\3"),
    (of("boolean"), True, True),
]


@pytest.mark.parametrize(("key", "value", "expected"), KEYS)
def test_keys_of_maps_are_what_their_schema_says(key: Json, value: Any, expected: Any) -> None:
    schema = struct(m=of("map", keys=key, values=decimal(1)), l=of("array", items=of("map", keys=key, values=key)))
    payload = {"m": [[value, unscaled(15)]], "l": [[[value, None]]]}
    found, writer = result(_columns(schema), record(schema, payload))
    assert (found.dead, found.unknown) == ([], {})
    assert writer.tables[0].to_pylist() == [{"m": [(expected, Decimal("1.5"))], "l": [[(expected, None)]]}]


def test_keys_of_maps_have_the_unit_of_their_schema() -> None:
    schema = struct(m=of("map", keys=of("int64", name="io.debezium.time.MicroTimestamp"), values=of("int64")))
    columns = Struct((Field("m", Map(Scalar("timestamptz"), LONG)),))
    found, writer = result(columns, record(schema, {"m": [[1_684_408_953_000_001, 1]]}))
    assert found.dead == []
    ((key, _),) = writer.tables[0].to_pylist()[0]["m"]
    assert key == dt.datetime(2023, 5, 18, 11, 22, 33, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize("depth", [100, 150, 300, 700])
def test_a_schema_that_is_nested_too_deeply_makes_bad_records(depth: int) -> None:
    text = b'{"type":"struct","fields":[{"field":"x",' * depth + b'"type":"int64"}' + b"]}" * depth
    text = text.replace(b'"x",{', b'"x",')
    with pytest.raises(ConversionError, match="the schema of the record cannot be read"):
        columns_of(text)
    good = b'{"type":"struct","fields":[{"field":"x",' * 99 + b'"type":"int64"}' + b"]}" * 99
    assert columns_of(good.replace(b'"x",{', b'"x",')) is not None


def _columns(schema: Json, **payload: Any) -> Struct:
    """The columns that records of a schema need."""
    found, _ = result(Struct(()), record(schema, payload))
    return Struct(tuple(Field(path[0], type_) for path, type_ in found.unknown.items()))


@given(st.integers(-(10**37), 10**37), st.integers(0, 20))
def test_decimals_are_exact(value: int, scale: int) -> None:
    schema = struct(d=decimal(scale))
    columns = Struct((Field("d", Scalar("decimal", 38, scale)),))
    values, failed = opened(chunk(record(schema, {"d": unscaled(value)})), JsonEnvelope())
    assert not failed
    (row,) = values.decode(RecordDecoder(DecodeSpec(columns, False))).table.to_pylist()
    assert row["d"] == Decimal(value).scaleb(-scale, Context(prec=50))


def test_numbers_stay_as_they_are_written() -> None:
    schema = struct(d=decimal(2), big=of("int64"))
    values, _ = opened(
        chunk(b'{"schema":%b,"payload":{"d":12.340,"big":9007199254740993}}' % json.dumps(schema).encode()),
        JsonEnvelope(),
    )
    assert values.values == [b'{"d":12.340,"big":9007199254740993}']


def test_columns_become_as_wide_as_the_schema_says() -> None:
    columns = Struct(
        (
            Field("ii", Scalar("int")),
            Field("ff", Scalar("float")),
            Field("st", Struct((Field("ii", Scalar("int")), Field("ff", Scalar("float"))))),
        )
    )
    inner = {"ii": of("int64"), "ff": of("double")}
    found, _ = result(columns, record(struct(**inner, st=struct(**inner)), {"ii": 11, "ff": 22.0}))
    assert shown(found) == {"ii": "long", "ff": "double", "st.ii": "long", "st.ff": "double"}
    assert result(columns, record(struct(**inner), {"ii": 11}), evolve=False)[0].unknown == {}


def test_other_types_change_nothing() -> None:
    columns = Struct((Field("i", Scalar("int")), Field("f", Scalar("float")), Field("s", STRING), Field("l", LONG)))
    schema = struct(i=of("string"), f=of("string"), s=of("int64"), l=of("int32"))
    found, writer = result(columns, record(schema, {"i": "1", "f": "2.5", "s": 3, "l": 4}))
    assert (found.unknown, found.dead) == ({}, [])
    assert writer.tables[0].to_pylist() == [{"i": 1, "f": 2.5, "s": "3", "l": 4}]


def test_new_members_of_structs_without_a_value() -> None:
    inner = Struct((Field("a", LONG),))
    columns = Struct((Field("st", inner), Field("li", List(inner)), Field("ma", Map(STRING, inner))))
    wide = struct(a=of("int64"), b=of("string"), c=struct(d=of("boolean")))
    schema = struct(st=wide, li=of("array", items=wide), ma=of("map", keys=of("string"), values=wide))
    expected = {
        f"{parent}.{name}": type_
        for parent in ("st", "li.element", "ma.value")
        for name, type_ in (("b", "string"), ("c", "struct<d: boolean>"))
    }
    assert shown(result(columns, record(schema, {"st": None}))[0]) == expected
    assert shown(result(columns, record(schema, {"st": {"a": 1, "b": "x"}}))[0]) == expected


def test_a_field_whose_name_finds_another_column_is_none_that_is_new() -> None:
    columns = Struct((Field("li", List(LONG)), Field("st", Struct((Field("a", LONG),)))))
    schema = struct(**{"li.element": of("int64"), "ST.A": of("int64"), "other": of("int64")})
    assert shown(result(columns, record(schema, {}))[0]) == {"other": "long"}


def test_columns_of_a_table_that_is_to_be_made() -> None:
    """`ts` is a time because its schema says so, and `op` a text although it is null."""
    schema = struct(id=of("int64"), ts=of("int64", name=f"{CONNECT}Timestamp"), op=of("string"))
    rows = batch([(record(schema, {"id": 1, "ts": 1, "op": None}), "t", 0, 0)])
    spec = TaskSpec((TableSpec("db.t", ANY_COLUMNS, None),), envelope=JsonEnvelope())
    found = run(rows, spec).tables["db.t"]
    assert shown(found) == {"id": "long", "ts": "timestamptz", "op": "string"}
    assert list(found.unknown) == [("id",), ("ts",), ("op",)]


def test_no_more_columns() -> None:
    schema = struct(a=of("int64"), ii=of("int64"))
    columns = Struct((Field("ii", Scalar("int")),))
    found, _ = result(columns, record(schema, {"ii": 1}), record(schema, {"a": 1}), no_more_columns="enough")
    assert shown(found) == {"ii": "long"}
    assert [letter.reason for letter in found.dead] == ["enough (a)"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"a":1}', "requires the fields schema and payload"),
        (b'{"schema":null,"payload":{},"more":1}', "requires the fields schema and payload"),
        (b"null", "not an object"),
        (b"[1]", "not an object"),
        (b'{"schema":', "not JSON"),
        (b'{"schema":{"type":"int99"},"payload":1}', "the schema of the record cannot be read: there is no type int99"),
        (b'{"schema":5,"payload":1}', "the schema of the record cannot be read"),
        (b'{"schema":{"type":"map"},"payload":{}}', "there is no type map"),
        (b'{"schema":{"type":"string"},"payload":"x"}', "the value is not an object but text"),
    ],
)
def test_records_that_are_no_envelope(value: bytes, reason: str) -> None:
    good = record(struct(n=of("int64")), {"n": 1})
    found, writer = result(Struct((Field("n", LONG),)), good, value, good)
    assert writer.values() == [1, 1]
    (letter,) = found.dead
    assert reason in letter.reason
    assert letter.value == value


def test_one_schema_for_all_records_leaves_payloads() -> None:
    schema = json.dumps(struct(n=of("int64"), d=decimal(2))).encode()
    values = (b' {"n":1,"d":"AMg="}', b'{"n":2,"d":3.5}', b"[1]", b"{")
    rows = batch([(value, "t", 0, offset) for offset, value in enumerate(values)])
    writer = Memory()
    columns = Struct((Field("n", LONG), Field("d", Scalar("decimal", 38, 2))))
    spec = TaskSpec((TableSpec("db.t", DecodeSpec(columns, True), writer),), envelope=JsonEnvelope(schema))
    found = run(rows, spec).tables["db.t"]
    stored = [str(value) for table in writer.tables for value in table.column("d").to_pylist()]
    assert (writer.values(), sorted(stored)) == ([1, 2], ["2.00", "3.50"])
    assert sorted(letter.offset for letter in found.dead) == [2, 3]


def test_decimals_that_are_none_are_refused() -> None:
    columns = Struct((Field("d", Scalar("decimal", 38, 2)),))
    bad = ['"?"', '""', '"12"', "true", f'"{base64.b64encode(bytes(400)).decode()}"']
    schema = json.dumps(struct(d=decimal(2))).encode()
    found, _ = result(columns, *(b'{"schema":%b,"payload":{"d":%b}}' % (schema, raw.encode()) for raw in bad))
    assert len(found.dead) == len(bad)


def test_without_a_schema_the_payload_is_read_as_it_is() -> None:
    found, _ = result(Struct(()), record(None, {"n": 1}), record(None, None))
    assert shown(found) == {"n": "long"}
    assert found.skipped == {"tombstone": 1}


def test_transformations_get_the_payload() -> None:
    schema = struct(after=struct(n=decimal(0)))
    rows = batch([(record(schema, {"after": {"n": unscaled(7)}}), "t", 0, 0), (b"x", "t", 0, 1)])
    writer = Memory()
    spec = TaskSpec(
        (TableSpec("db.t", DecodeSpec(Struct((Field("n", LONG),)), True), writer),),
        transforms=chain(("ExtractField$Value", {"field": "after"})),
        envelope=JsonEnvelope(),
    )
    found = run(rows, spec).tables["db.t"]
    assert writer.values() == [7]
    assert (found.unknown, [letter.offset for letter in found.dead]) == ({}, [1])


def test_positions_are_those_that_were_read() -> None:
    good = record(struct(n=of("int64")), {"n": 1})
    values, failed = opened(chunk(b"x", good, None, b"[", good), JsonEnvelope())
    assert (values.at, [index for index, _ in failed]) == ([1, 2, 4], [0, 3])
    assert all(isinstance(error, ConversionError) for _, error in failed)


def test_objects_hold_what_is_no_number_where_the_schema_is_floating() -> None:
    schema = struct(f=of("float"), l=of("array", items=of("double")))
    columns = columns_of(json.dumps(schema).encode())
    assert columns is not None
    found = RecordDecoder(DecodeSpec(columns, False)).decode([b'{"f":"-Infinity","l":["Infinity",1.5]}'])
    assert (found.rejected, found.table.to_pylist()) == ([], [{"f": -math.inf, "l": [math.inf, 1.5]}])
