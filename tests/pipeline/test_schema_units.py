"""Values whose schema says more of them than their JSON text: units of times, decimals, numbers that are none."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from frazil.pipeline.convert.decode import DecodeSpec, decoder
from frazil.pipeline.convert.overrides import Overrides
from frazil.pipeline.envelope import JsonEnvelope
from frazil.pipeline.results import TableResult
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import ANY_COLUMNS, TableSpec, TaskSpec
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type
from tests.pipeline.convert import oracle
from tests.pipeline.test_envelope import CONNECT, Json, decimal, of, record, shown, struct, unscaled
from tests.pipeline.test_task import Memory, batch
from tests.pipeline.transforms.chains import Step, chain

DEBEZIUM = "io.debezium.time."
DATE, TIME, LONG = Scalar("date"), Scalar("time"), Scalar("long")
LOCAL, UTC, NANO = Scalar("timestamp"), Scalar("timestamptz"), Scalar("timestamp_ns")
DOUBLE, FLOAT, MONEY = Scalar("double"), Scalar("float"), Scalar("decimal", 9, 2)
MICROS = 68_256_000_000_000
DAY = 86_400 * 10**6


def stored(
    columns: Struct, *records: bytes, steps: tuple[Step, ...] = (), evolve: bool = False, legacy: bool = False
) -> tuple[list[dict[str, Any]], TableResult]:
    """Rows in their storage form, and the result of the task."""
    writer = Memory()
    spec = DecodeSpec(columns, evolve, legacy=legacy)
    transforms = chain(*steps) if steps else None
    rows = batch([(value, "t", 0, offset) for offset, value in enumerate(records)])
    found = run(rows, TaskSpec((TableSpec("db.t", spec, writer),), transforms, envelope=JsonEnvelope())).tables["db.t"]
    assert found.read == found.stored.total() + len(found.dead) + found.skipped.total() == len(records)
    table = pa.concat_tables(writer.tables) if writer.tables else pa.table({})
    return oracle.stored(table, columns) if writer.tables else [], found


def new_columns(*records: bytes) -> TableResult:
    """What a task finds for a table that is not there yet."""
    rows = batch([(value, "t", 0, offset) for offset, value in enumerate(records)])
    return run(rows, TaskSpec((TableSpec("db.t", ANY_COLUMNS, None),), envelope=JsonEnvelope())).tables["db.t"]


def one(type_: Type, schema: Json, value: Any, **more: Any) -> Any:
    """The value that one record stores, or the reason why it is a dead letter."""
    rows, found = stored(Struct((Field("v", type_),)), record(struct(v=schema), {"v": value}), **more)
    return rows[0]["v"] if rows else found.dead[0].reason


@pytest.mark.parametrize("text", ["-0", "-0.0", "-0e0"])
@pytest.mark.parametrize("legacy", [False, True], ids=["strict", "legacy"])
@pytest.mark.parametrize("odd", ["1", '"NaN"'], ids=["at once", "one by one"])
def test_a_minus_zero_of_json_is_the_same_with_a_schema_and_without(text: str, legacy: bool, odd: str) -> None:
    columns = Struct((Field("d", DOUBLE), Field("f", FLOAT), Field("odd", DOUBLE)))
    schema = json.dumps(struct(d=of("double"), f=of("float"), odd=of("double"))).encode()
    payload = f'{{"d":{text},"f":{text},"odd":{odd}}}'.encode()
    (row,), _ = stored(columns, b'{"schema":%s,"payload":%s}' % (schema, payload), legacy=legacy)
    (plain,) = (
        decoder(DecodeSpec(columns, False, legacy=legacy)).decode([payload.replace(b'"NaN"', b"1")]).table.to_pylist()
    )
    assert oracle.same([row["d"], row["f"]], [plain["d"], plain["f"]])
    assert oracle.same(plain["d"], 0.0 if legacy else -0.0)


def named(type_: str, name: str) -> Json:
    return of(type_, name=name)


@pytest.mark.parametrize("legacy", [False, True], ids=["strict", "legacy"])
@pytest.mark.parametrize(
    ("type_", "schema", "value", "expected"),
    [
        (UTC, named("int64", DEBEZIUM + "MicroTimestamp"), MICROS, MICROS),
        (LOCAL, named("int64", DEBEZIUM + "MicroTimestamp"), MICROS, MICROS),
        (NANO, named("int64", DEBEZIUM + "MicroTimestamp"), MICROS, MICROS * 1000),
        (UTC, named("int64", DEBEZIUM + "NanoTimestamp"), MICROS * 1000 + 999, MICROS),
        (NANO, named("int64", DEBEZIUM + "NanoTimestamp"), MICROS * 1000 + 999, MICROS * 1000 + 999),
        (UTC, named("int64", DEBEZIUM + "Timestamp"), 1_684_408_953_000, 1_684_408_953_000_000),
        (UTC, named("int64", CONNECT + "Timestamp"), 1_684_408_953_000, 1_684_408_953_000_000),
        (UTC, of("int64"), 1_684_408_953_000, 1_684_408_953_000_000),
        (UTC, of("int64", parameters={"logicalType": "timestamp-micros"}), MICROS, MICROS),
        (LOCAL, of("int64", parameters={"logicalType": "local-timestamp-nanos"}), MICROS * 1000, MICROS),
        (TIME, of("int64", parameters={"logicalType": "time-micros"}), 60_000, 60_000),
        (LONG, of("int64", parameters={"logicalType": "timestamp-micros"}), MICROS, MICROS),
        (UTC, named("int32", CONNECT + "Date"), 20089, 20089 * DAY),
        (LOCAL, named("int32", DEBEZIUM + "Date"), -1, -DAY),
        (UTC, named("string", DEBEZIUM + "ZonedTimestamp"), "2023-05-18T11:22:33Z", 1_684_408_953_000_000),
        (DATE, named("int32", CONNECT + "Date"), 20089, 20089),
        (DATE, named("int32", DEBEZIUM + "Date"), 20089, 20089),
        (TIME, named("int32", CONNECT + "Time"), 60, 60_000),
        (TIME, named("int32", DEBEZIUM + "Time"), 60, 60_000),
        (TIME, named("int64", DEBEZIUM + "MicroTime"), 60_000, 60_000),
        (TIME, named("int64", DEBEZIUM + "NanoTime"), 60_000_000, 60_000),
        (LONG, named("int64", DEBEZIUM + "MicroTimestamp"), MICROS, MICROS),
        (LONG, named("int32", CONNECT + "Date"), 20089, 20089),
        (STRING, named("int64", DEBEZIUM + "MicroTimestamp"), MICROS, str(MICROS)),
        (List(UTC), of("array", items=named("int64", DEBEZIUM + "MicroTimestamp")), [MICROS, None], [MICROS, None]),
        (
            Map(STRING, DATE),
            of("map", keys=of("string"), values=named("int32", CONNECT + "Date")),
            {"a": 20089},
            [("a", 20089)],
        ),
        (
            MONEY,
            named("struct", "io.debezium.data.VariableScaleDecimal"),
            {"scale": 1, "value": unscaled(-15)},
            "-1.50",
        ),
        (
            MONEY,
            named("struct", "io.debezium.data.VariableScaleDecimal"),
            {"scale": -2, "value": unscaled(3)},
            "300.00",
        ),
        (DOUBLE, decimal(2), unscaled(1234), 12.34),
        (DOUBLE, of("double"), "-Infinity", -math.inf),
        (FLOAT, of("float"), "Infinity", math.inf),
    ],
)
def test_the_schema_says_what_a_value_is(type_: Type, schema: Json, value: Any, expected: Any, legacy: bool) -> None:
    if schema.get("name", "").endswith("VariableScaleDecimal"):
        schema = schema | {"fields": [of("int32", field="scale"), of("bytes", field="value")]}
        expected = Decimal(expected)
    assert one(type_, schema, value, legacy=legacy) == expected


@pytest.mark.parametrize(
    ("type_", "schema", "value", "reason"),
    [
        (DATE, named("int64", DEBEZIUM + "MicroTimestamp"), MICROS, "MicroTimestamp.* does not fit"),
        (TIME, named("int64", CONNECT + "Timestamp"), 1, "Timestamp.* does not fit"),
        (UTC, named("int64", DEBEZIUM + "MicroTime"), 1, "MicroTime.* does not fit"),
        (UTC, named("int32", DEBEZIUM + "Year"), 2025, "Year, .* is no time"),
        (DATE, named("int32", "com.example.Days"), 1, "com.example.Days, .* is no time"),
        (TIME, named("int64", DEBEZIUM + "MicroTime"), DAY, "no time of a day"),
        (UTC, named("int64", DEBEZIUM + "MicroTimestamp"), MICROS * 10**6, "out of range"),
        (DATE, named("int32", CONNECT + "Date"), 10**8, "out of range"),
        (DOUBLE, decimal(3), unscaled(int("1" * 45)), "more digits than the column keeps"),
        (DOUBLE, of("string"), "NaN", "not a number"),
        (MONEY, decimal(3), unscaled(12345), "2 digits after the point"),
    ],
)
def test_what_does_not_fit_its_column_is_a_dead_letter(type_: Type, schema: Json, value: Any, reason: str) -> None:
    found = one(type_, schema, value)
    assert isinstance(found, str)
    assert re.search(reason, found)


def test_a_column_that_a_key_gives_its_type_has_the_unit_of_the_schema() -> None:
    schema = struct(at=named("int64", DEBEZIUM + "MicroTimestamp"))
    overrides = Overrides(((("at",), UTC),))
    spec = DecodeSpec(Struct((Field("n", LONG),)), evolve=True, overrides=overrides)
    rows = batch([(record(schema, {"at": MICROS}), "t", 0, 0)])
    found = run(rows, TaskSpec((TableSpec("db.t", spec, None),), envelope=JsonEnvelope())).tables["db.t"]
    assert found.unknown == {("at",): UTC}
    assert one(UTC, named("int64", DEBEZIUM + "MicroTimestamp"), MICROS) == MICROS


def test_a_double_may_be_none() -> None:
    assert math.isnan(one(DOUBLE, of("double"), "NaN"))


def test_records_of_several_schemas_and_of_none_in_one_batch() -> None:
    columns = Struct((Field("n", LONG), Field("at", UTC)))
    micro = struct(n=of("int64"), at=named("int64", DEBEZIUM + "MicroTimestamp"))
    milli = struct(n=of("int64"), at=named("int64", CONNECT + "Timestamp"))
    odd = struct(n=of("int64"), at=named("int64", DEBEZIUM + "MicroTime"))
    records = [
        record(schema, {"n": n, "at": 68_256_000_000})
        for n, schema in enumerate([milli, micro, None, odd, milli, micro, None, odd])
    ]
    rows, found = stored(columns, *records)
    millis, micros = 68_256_000_000_000, 68_256_000_000
    assert {row["n"]: row["at"] for row in rows} == {0: millis, 1: micros, 2: millis, 4: millis, 5: micros, 6: millis}
    assert sorted(letter.offset for letter in found.dead) == [3, 7]


def test_kinds_that_schemas_declare_merge_to_one_that_holds_all_values() -> None:
    def columns(*pairs: tuple[Json, Any]) -> dict[str, str]:
        return shown(new_columns(*(record(struct(q=schema), {"q": value}) for schema, value in pairs)))

    assert columns((of("int32"), 1), (of("int64"), 3_000_000_000)) == {"q": "long"}
    assert columns((of("float"), 0.5), (of("double"), 0.1)) == {"q": "double"}
    assert columns((decimal(2), unscaled(1)), (decimal(3), unscaled(1))) == {"q": "decimal(38,3)"}
    date = named("int32", CONNECT + "Date")
    assert columns((date, 1), (date | {"version": 1}, 2)) == {"q": "date"}
    maps = [of("map", keys=of("string"), values=of(kind)) for kind in ("int32", "int64")]
    assert columns((maps[0], {"a": 1}), (maps[1], {"a": 2})) == {"q": "map<string, long>"}
    lists = [of("array", items=of("map", keys=of(kind), values=date)) for kind in ("int32", "int64")]
    assert columns((lists[0], []), (lists[1], [])) == {"q": "list<map<long, date>>"}


DAYS, CLOCK = named("int32", CONNECT + "Date"), named("int32", CONNECT + "Time")
INSTANT = named("int64", CONNECT + "Timestamp")
KINDS: list[tuple[Type, Json, Any, Any, str]] = [
    (Scalar("int"), of("int32"), 7, 7, "7"),
    (LONG, of("int64"), 3_000_000_000, 3_000_000_000, "3000000000"),
    (DOUBLE, of("double"), 0.5, 0.5, "0.5"),
    (Scalar("boolean"), of("boolean"), True, True, "true"),
    (STRING, of("string"), "a", "a", "a"),
    (Scalar("decimal", 38, 2), decimal(2), unscaled(1234), Decimal("12.34"), "12.34"),
    (Scalar("decimal", 38, 3), decimal(3), unscaled(1), Decimal("0.001"), "0.001"),
    (DATE, DAYS, 20089, 20089, "2025-01-01"),
    (TIME, CLOCK, 28_290_888, 28_290_888_000, "07:51:30.888Z"),
    (UTC, INSTANT, 1_684_408_953_001, 1_684_408_953_001_000, "2023-05-18T11:22:33.001Z"),
]
"""Types of columns, schemas, payloads, what the column stores of them, and how Kafka Connect writes them as text."""
WHOLE = {"int", "long"}


def held_by_both(left: Scalar, right: Scalar) -> Scalar:
    kinds = {left.kind, right.kind}
    if left == right:
        return left
    if kinds <= WHOLE:
        return LONG
    if kinds <= {*WHOLE, "double"}:
        return DOUBLE
    if kinds <= {*WHOLE, "decimal"}:
        return Scalar("decimal", 38, max(left.scale, right.scale))
    return UTC if kinds == {"date", "timestamptz"} else STRING


@pytest.mark.parametrize("right", KINDS, ids=lambda kind: str(kind[0]))
@pytest.mark.parametrize("left", KINDS, ids=lambda kind: str(kind[0]))
def test_values_of_two_schemas_in_one_batch_are_whole_in_their_new_column(left: Any, right: Any) -> None:
    both = [record(struct(v=schema), {"v": payload}) for _, schema, payload, _, _ in (left, right)]
    column = held_by_both(left[0], right[0])
    assert new_columns(*both).unknown == {("v",): column}
    rows, found = stored(Struct((Field("v", column),)), *both)
    assert not found.dead
    days = {20089: 20089 * DAY} if column == UTC else {}
    values = [row["v"] for row in sorted(rows, key=lambda row: str(row["v"]))]
    expected = [text if column == STRING else days.get(value, value) for *_, value, text in (left, right)]
    assert values == sorted(expected, key=str)


def test_times_of_connect_are_no_numbers_in_columns_of_text() -> None:
    items = of("array", items=INSTANT)
    pairs = of("map", keys=of("string"), values=DAYS)
    assert one(List(STRING), items, [1_684_408_953_001, None]) == ["2023-05-18T11:22:33.001Z", None]
    assert one(Map(STRING, STRING), pairs, {"a": 20089}) == [("a", "2025-01-01")]


def test_a_day_that_a_transformation_has_written_is_a_midnight() -> None:
    steps: tuple[Step, ...] = (("TimestampConverter$Value", {"field": "v", "target.type": "Date"}),)
    assert one(UTC, INSTANT, 1_684_408_953_001, steps=steps) == 19495 * DAY


ROW = struct(
    n=of("int64"),
    money=decimal(2),
    wide=decimal(3),
    small=of("int32"),
    raw=of("bytes"),
    at=named("int64", DEBEZIUM + "MicroTimestamp"),
    day=named("int32", CONNECT + "Date"),
    inner=struct(at=named("int64", DEBEZIUM + "NanoTimestamp"), f=of("float")),
)
VALUES = {
    "n": 1,
    "money": unscaled(1234),
    "wide": unscaled(1),
    "small": 2,
    "raw": "AQID",
    "at": MICROS,
    "day": 20089,
    "inner": {"at": MICROS * 1000, "f": 0.5},
}
EVENT = record(struct(after=ROW, op=of("string")), {"after": VALUES, "op": "c"})
EXTRACT: Step = ("ExtractField$Value", {"field": "after"})


def test_new_columns_of_what_transformations_leave_have_the_types_of_the_schema() -> None:
    _, found = stored(Struct((Field("n", LONG),)), EVENT, steps=(EXTRACT,), evolve=True)
    assert shown(found) == {
        "money": "decimal(38,2)",
        "wide": "decimal(38,3)",
        "small": "int",
        "raw": "binary",
        "at": "long",
        "day": "date",
        "inner": "struct<at: long, f: float>",
    }


def test_transformations_give_null_the_type_that_they_give_a_value() -> None:
    inner = {**struct(n=of("int64")), "optional": True}
    null = record(struct(at=of("int64", optional=True), **{"in": inner}), {"at": None, "in": None})
    steps: tuple[Step, ...] = (
        ("Flatten$Value", {"delimiter": "_"}),
        ("TimestampConverter$Value", {"field": "at", "target.type": "Date"}),
    )
    _, found = stored(Struct((Field("n", LONG),)), null, steps=steps, evolve=True)
    assert shown(found) == {"at": "date", "in_n": "long"}


TIMES = Struct((Field("at", UTC), Field("day", DATE), Field("inner", Struct((Field("at", UTC),)))))


@pytest.mark.parametrize(
    "steps",
    [
        (EXTRACT,),
        (
            EXTRACT,
            ("ReplaceField$Value", {"exclude": "money"}),
            ("InsertField$Value", {"static.field": "x", "static.value": "1"}),
        ),
        (EXTRACT, ("ReplaceField$Value", {"include": "at,day,inner"})),
        (EXTRACT, ("HoistField$Value", {"field": "x"}), ("ExtractField$Value", {"field": "x"})),
        (EXTRACT, ("MaskField$Value", {"fields": "money,small"})),
        (
            ("ExtractField$Value", {"field": "after", "field.syntax.version": "V2"}),
            ("ValueToKey", {"fields": "n,inner"}),
        ),
    ],
    ids=str,
)
def test_units_pass_transformations(steps: tuple[Step, ...]) -> None:
    rows, found = stored(TIMES, EVENT, steps=steps)
    assert not found.dead
    assert rows == [{"at": MICROS, "day": 20089, "inner": {"at": MICROS}}]


def test_units_pass_flatten_copies_and_converters() -> None:
    columns = Struct((Field("inner.at", UTC), Field("copy", UTC), Field("text", STRING), Field("day", UTC)))
    steps: tuple[Step, ...] = (
        EXTRACT,
        ("org.apache.iceberg.connect.transforms.CopyValue", {"source.field": "at", "target.field": "copy"}),
        ("org.apache.iceberg.connect.transforms.CopyValue", {"source.field": "at", "target.field": "text"}),
        ("TimestampConverter$Value", {"field": "text", "target.type": "string", "format": "yyyy-MM-dd"}),
        ("Flatten$Value", {}),
    )
    rows, found = stored(columns, EVENT, steps=steps)
    assert not found.dead
    assert rows == [{"inner.at": MICROS, "copy": MICROS, "text": "1972-03-01", "day": 20089 * DAY}]


def test_a_decimal_that_transformations_leave_is_no_double() -> None:
    wide = record(struct(after=struct(d=decimal(3))), {"after": {"d": unscaled(int("1" * 45))}})
    rows, found = stored(Struct((Field("d", DOUBLE),)), wide, steps=(EXTRACT,))
    assert not rows
    assert "more digits" in found.dead[0].reason
