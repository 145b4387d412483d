"""Transformations of plain JSON as columns, beside those of the same records one by one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.pipeline import task
from frazil.pipeline.assign import assign
from frazil.pipeline.changes import ChangeSpec
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.prepare import prepare
from frazil.pipeline.route import Route, router
from frazil.pipeline.rows import Rows
from frazil.pipeline.shaped import decoded
from frazil.pipeline.task_spec import ANY_COLUMNS, Bounds, Routing, TableSpec, TaskSpec
from frazil.pipeline.transforms import chain as transforms
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type
from frazil.pipeline.values import Ints, Part, Prepared
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.test_task import Memory
from tests.pipeline.transforms.chains import Step, chain, predicates

FIELDS: dict[str, Type] = {
    "i": Scalar("int"),
    "l": Scalar("long"),
    "s": STRING,
    "b": Scalar("boolean"),
    "d": Scalar("double"),
    "f": Scalar("float"),
    "at": Scalar("timestamptz"),
    "day": Scalar("date"),
    "price": Scalar("decimal", precision=9, scale=2),
    "in": Struct((Field("i", Scalar("long")), Field("s", STRING))),
    "tags": List(STRING),
    "m": Map(STRING, Scalar("long")),
}
MORE: dict[str, Type] = {
    "j": Scalar("int"),
    "t": STRING,
    "p": Scalar("int"),
    "o": Scalar("long"),
    "ts": Scalar("timestamptz"),
    "c": STRING,
}
COPY = "io.tabular.iceberg.connect.transforms.CopyValue"
STEPS: dict[str, list[Mapping[str, str]]] = {
    "ReplaceField$Value": [{"exclude": "b,x"}, {"include": "i,s,in,l,at", "renames": "i:j"}, {"renames": "i:s,s:i"},
                           {"renames": "l:o,x:c"}, {"renames": "s:t"}, {"renames": "i:j,l:j"},
                           {"exclude": "in,tags,m"}],
    "MaskField$Value": [{"fields": "i,l,s,b"}, {"fields": "d,f"}, {"fields": "at,price"}, {"fields": "in,tags"},
                        {"fields": "s,t", "replacement": "*"}, {"fields": "i,b", "replacement": "7"}, {"fields": "x"}],
    "InsertField$Value": [{"topic.field": "t", "partition.field": "p!", "offset.field": "o", "timestamp.field": "ts"},
                          {"static.field": "c", "static.value": "5"}, {"static.field": "i", "static.value": "5"},
                          {"timestamp.field": "l"}, {"static.field": "new", "static.value": "v"}],
    "Cast$Value": [{"spec": "i:int64,l:string"}, {"spec": "l:int32"}, {"spec": "d:string"}, {"spec": "i:int8,x:int8"},
                   {"spec": "b:string,l:float64"}, {"spec": "s:string,d:float64,b:boolean"}, {"spec": "at:int64"}],
    "SetSchemaMetadata$Value": [{"schema.name": "n"}],
    "HeaderFrom$Value": [{"fields": "i,x", "headers": "a,b", "operation": "move"}],
    "InsertHeader": [{"header": "h", "value.literal": "v"}],
    "ValueToKey": [{"fields": "i"}],
    "RegexRouter": [{"regex": "(.)", "replacement": "$1$1"}],
    "TimestampRouter": [{"timestamp.format": "yyyyMMddHHmmss"}],
    "Filter": [{"predicate": "none"}, {"predicate": "tt"}, {"predicate": "marked"},
               {"predicate": "marked", "negate": "true"}],
    "ExtractField$Value": [{"field": "in"}, {"field": "in", "field.syntax.version": "V2"}, {"field": "s"},
                           {"field": "in.i", "field.syntax.version": "V2"}, {"field": "zz"}, {"field": 'q"'},
                           {"field": "in", "predicate": "marked"}],
    "HoistField$Value": [{"field": "s"}, {"field": "in"}, {"field": 'q"'}, {"field": "more"}],
    "DropHeaders": [{"headers": "h"}],
    COPY: [{"source.field": "i", "target.field": "j"}, {"source.field": "s", "target.field": "t"},
                  {"source.field": "l", "target.field": "i"}, {"source.field": "zz", "target.field": "s"},
                  {"source.field": "at", "target.field": "ts"}, {"source.field": "in", "target.field": "new"},
                  {"source.field": "s", "target.field": "s"}],
}  # fmt: skip
ODD = [
    "null", "-0", "0", "1.0", "1e3", "-0.0", "1e400", "1e-400", "0.1234567890123456789", str(2**31), str(2**63),
    str(10**40), '"5"', '"true"', '""', "true", "[]", "{}", "[1,null]", '{"i":{"s":[1.50]}}', '"\\ud800"', '"\\u00e9"',
    '"\U00020000"', '"\\ud840\\udc00"', '"2024-01-01"', '"2024-01-01T00:00:00Z"', '"1970-01-01T00:00:00.5+01:00"',
    "1.50",
]  # fmt: skip
BROKEN = [
    b"",
    b" ",
    b"[1]",
    b"5",
    b'{"i":',
    b'{"i":1} x',
    b'{"zz":"\xff"}',
    b"\0",
    b" null ",
    b"null" + b" " * 90,
    None,
]


def valid(name: str, chance: Random) -> Any:
    match name:
        case "i" | "l":
            return chance.randrange(-100, 100) if chance.random() < 0.9 else chance.randrange(2**31)
        case "b":
            return chance.random() < 0.5
        case "d" | "f":
            return chance.choice([0.5, 2.25, 7])
        case "at":
            return f"2024-01-0{chance.randrange(1, 9)}T10:00:00Z"
        case "day":
            return "2024-02-29"
        case "price":
            return chance.randrange(1000) / 4
        case "in":
            return {"i": 5, "s": "inside"}
        case "tags":
            return ["a"] * chance.randrange(3)
        case "m":
            return {"k": 1}
        case _:
            return chance.choice(["", "é", "x", "some text", None])


def record(chance: Random, names: list[str], odd: float) -> bytes | None:
    if chance.random() < odd / 3:
        return chance.choice(BROKEN)
    pairs = [(name, json.dumps(valid(name, chance))) for name in names if chance.random() < 0.97]
    if chance.random() < 0.1:
        chance.shuffle(pairs)
    if chance.random() < odd:
        for _ in range(chance.randint(1, 2)):
            name = chance.choice([*FIELDS, *MORE, "x", "zzz", "I", "", "a.b", 'q"', "new"])
            pairs.insert(chance.randrange(len(pairs) + 1), (name, chance.choice(ODD)))
    space = chance.choice(["", "", " "])
    return f"{{{','.join(f'{json.dumps(name)}{space}:{text}{space}' for name, text in pairs)}}}".encode()


def rows_of(chance: Random, *, odd: float = 0.2) -> Rows:
    names = [name for name in [*FIELDS, "x"] if chance.random() < 0.8] or ["i"]
    values = [record(chance, names, odd) for _ in range(chance.choice([40, 150]))]
    headers = [((name, b"1"),) if name else () for name in chance.choices(["", "", "h", "x"], k=len(values))]
    rows = [Row(100 + at, value, 1_700_000_000_000 + at * 7) for at, value in enumerate(values)]
    return dataclasses.replace(chunk(rows), headers=headers if chance.random() < 0.8 else None)


def spec_of(chance: Random) -> DecodeSpec:
    fields = [Field(name, type_) for name, type_ in {**FIELDS, **MORE}.items() if chance.random() < 0.85]
    others: dict[str, Type] = {"l": STRING, "i": Scalar("long"), "o": STRING, "ts": Scalar("long")}
    for at, each in enumerate(fields):
        if each.name in others and chance.random() < 0.2:
            fields[at] = Field(each.name, others[each.name])
        elif chance.random() < 0.05:
            fields[at] = Field(each.name, each.type, required=True)
        elif chance.random() < 0.03:
            fields[at] = Field(f"{each.name}_", each.type, aliases=(each.name,))
    ignored = ("x",) if chance.random() < 0.2 else ()
    return DecodeSpec(
        Struct((*fields, Field("more", STRING)), ignored),
        evolve=chance.random() < 0.5,
        loosen=chance.random() < 0.3,
        any_case=chance.random() < 0.15,
        legacy=chance.random() < 0.15,
    )


def told(
    rows: Rows, steps: TransformChain, spec: DecodeSpec, changes: ChangeSpec | None, *, columns: bool
) -> tuple[Any, int]:
    """All that becomes of records; and how many were changed at once."""
    prepared = prepare(rows, steps, envelope=None, columns=columns, quick=False)
    asked: list[int] = []

    def counting(part: Part, numbers: Ints) -> Prepared:
        asked.append(len(numbers))
        return part.read(numbers)

    counted = [dataclasses.replace(part, read=partial(counting, part)) for part in prepared.values.columns]
    values = dataclasses.replace(prepared.values, columns=counted)
    found = decoded(values, spec, changes)
    topics: dict[int, str] = {}
    for part in values.columns:
        topics |= dict(zip(part.at.tolist(), part.topics or [], strict=True))
    if values.topics is not None:
        topics |= {values.position(index): topic for index, topic in enumerate(values.topics)}
    stored = sorted(zip(found.positions, map(repr, found.table.to_pylist()), strict=True))
    failed = [*prepared.failed, *found.failed, *found.rejected]
    bad = sorted((at, str(error), getattr(error, "origin", None), error.path) for at, error in failed)
    topics = {at: topic for at, topic in topics.items() if at not in dict(failed)}
    shown = sorted(found.unknown.items()), found.absent, sorted(found.seen.items())
    return (shown, topics, stored, bad, sorted(prepared.dropped), sorted(found.skipped)), sum(map(len, counted)) - sum(
        asked
    )


def compared(steps: list[Step], rows: Rows, spec: DecodeSpec, changes: ChangeSpec | None = None) -> int:
    """How many are changed at once by what has learnt from them."""
    found = chain(*steps, **predicates(steps))
    one_by_one, _ = told(rows, found, spec, changes, columns=False)
    for _ in range(2):
        at_once, many = told(rows, found, spec, changes, columns=True)
        assert at_once == one_by_one
    return many


def whole(**types: Type) -> DecodeSpec:
    columns = {**FIELDS, **MORE, **types}
    return DecodeSpec(Struct(tuple(Field(name, type_) for name, type_ in columns.items())), evolve=False)


@pytest.mark.parametrize("step", [(name, keys) for name, several in STEPS.items() for keys in several])
def test_one_step(step: Step) -> None:
    for seed in range(4):
        chance = Random(seed)
        compared([step], rows_of(chance), spec_of(chance))
    compared([step], rows_of(Random(1)), ANY_COLUMNS)


@given(st.integers(0, 2**40))
def test_chains(seed: int) -> None:
    chance = Random(seed)
    names = chance.choices(list(STEPS), k=chance.randint(1, 4))
    rows, spec = rows_of(chance, odd=chance.choice([0.02, 0.2, 0.6])), spec_of(chance)
    telling = ChangeSpec((("i",),), chance.choice([("b",), ("c",), ("op",), ("in", "s"), ("s",)]))
    changes = chance.choice([None, ChangeSpec((("i",),), None), telling])
    compared([(name, chance.choice(STEPS[name])) for name in names], rows, spec, changes)


MASK: Step = ("MaskField$Value", {"fields": "s,d,l,b"})


def plain_rows(names: list[str], count: int = 100) -> list[Row]:
    return [Row(number, record(Random(number), names, 0)) for number in range(count)]


@pytest.mark.parametrize(
    "steps",
    [
        [("ReplaceField$Value", {"exclude": "in,x", "renames": "i:j,at:ts"}), MASK],
        [("Cast$Value", {"spec": "l:string,d:float64,b:boolean,s:string"}), ("RegexRouter", STEPS["RegexRouter"][0])],
        [("InsertField$Value", STEPS["InsertField$Value"][0]), ("SetSchemaMetadata$Value", {"schema.name": "n"})],
        [("TimestampRouter", {}), ("Filter", {"predicate": "none"}), MASK],
    ],
)
def test_columns_stay_columns(steps: list[Step]) -> None:
    spec = whole(l=STRING) if steps[0][0] == "Cast$Value" else whole()
    assert compared(steps, chunk(plain_rows([*FIELDS, "x"])), spec) == 100


def test_odd_records_leave_the_others_columns() -> None:
    rows = chunk([*plain_rows([*FIELDS]), *(Row(100 + number, b"5") for number in range(9))])
    assert compared([MASK], rows, whole()) == 100


def test_fields_that_come_later_become_columns() -> None:
    assert compared([MASK], chunk(plain_rows(["i"])), whole()) == 100
    assert compared([MASK], chunk(plain_rows(["i", "s", "d"])), whole()) == 100


def test_a_minus_before_a_zero_stays() -> None:
    rows = chunk([*plain_rows(["i", "l"]), Row(100, b'{"i":1,"l":-0}')])
    assert compared([("Cast$Value", {"spec": "l:string"})], rows, whole(l=STRING)) == 100


def test_texts_and_numbers_are_masked_as_what_they_are() -> None:
    rows = chunk([Row(number, b'{"s":"a"}' if number % 3 else b'{"s":5}') for number in range(300)])
    assert compared([MASK], rows, whole()) == 200


def test_texts_that_are_cast_to_texts_go_to_any_column() -> None:
    rows = chunk([Row(number, b'{"i":"5","at":"2024-01-01T00:00:00Z","s":"x"}') for number in range(100)])
    assert compared([("Cast$Value", {"spec": "i:string,at:string"})], rows, whole()) == 0
    assert compared([("Cast$Value", {"spec": "i:string,s:string"})], rows, whole(i=STRING)) == 100


def test_what_has_no_column_yet_brings_one() -> None:
    rows, spec = chunk(plain_rows(["i", "new"])), dataclasses.replace(whole(), evolve=True)
    for name in ("InsertField$Value", "MaskField$Value"):
        keys = {"static.field": "c2", "static.value": "v", "fields": "new"}
        assert compared([(name, keys)], rows, spec) == 0
    assert compared([MASK], rows, spec) < 10
    assert compared([("ReplaceField$Value", {"exclude": "new"})], rows, spec) == 100


def test_null_is_nothing_however_many_blanks_are_around_it() -> None:
    rows = chunk([*plain_rows(["i"]), Row(100, b"null" + b" " * 90), Row(101, b" null"), Row(102, None)])
    steps: list[Step] = [("ValueToKey", {"fields": "i"}), ("Filter", {"predicate": "none"}), MASK]
    assert compared(steps, rows, whole()) == 100


def test_two_fields_for_one_column() -> None:
    values = [b'{"i":1}', b'{"I":2}', b'{"i":1,"I":2}', b'{"j":1}', b'{"s":"x","i":3}']
    rows = chunk([Row(number, values[number % 5]) for number in range(200)])
    spec = dataclasses.replace(whole(), any_case=True)
    assert compared([("MaskField$Value", {"fields": "s"})], rows, spec) == 120
    compared([("ReplaceField$Value", {"renames": "s:I"}), ("MaskField$Value", {"fields": "I"})], rows, spec)


@given(st.integers(0, 2**40))
def test_tasks(seed: int) -> None:
    """The same rows and dead letters, whatever route leads to the tables."""
    chance = Random(seed)
    steps: list[Step] = [("RegexRouter", STEPS["RegexRouter"][0]), ("Cast$Value", {"spec": "l:int32,i:int8"})]
    renames = ["", "x:s", "s:x,b:s", "s:t"]
    steps += [("ReplaceField$Value", {"renames": one}) for one in chance.choices(renames, k=1) if one]
    columns = DecodeSpec(Struct((*whole().struct.fields, Field("n", Scalar("long")))), evolve=True)
    steps.append(("InsertField$Value", {"offset.field": "n"}))
    route = chance.choice(
        [
            None,
            Route(("s",), dynamic=True),
            Route(("s",), (("db.tt", ".*"),)),
            Route(("in", "s"), (("db.tt", "inside"), ("db.uu", "ins.*"))),
            Route(topic_pattern="db.{topic}", allowed="db.*"),
        ]
    )
    routing = None if route is None else Routing(route, Bounds(), frozenset(("db.tt",)), columns)
    rows = rows_of(chance)

    def result() -> tuple[Any, ...]:
        table = TableSpec("db.tt", columns, Memory())
        found = task.run([rows], TaskSpec((table,), chain(*steps), routing))
        parts = [found.tables["db.tt"], found.rest]
        dead = [sorted((each.offset, each.reason, each.path, each.origin) for each in part.dead) for part in parts]
        books = [(part.skipped, part.stored, part.read) for part in parts]
        missing = {name: more.fields for name, more in found.missing.items()}
        assert isinstance(table.writer, Memory)
        return table.writer.values(), dead, books, missing, parts[0].unknown

    at_once = result()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transforms, "_FEW", 1000)
        assert result() == at_once


@pytest.mark.parametrize(
    ("steps", "many"),
    [([MASK], 90), ([("ReplaceField$Value", {"renames": "x:t"})], 0), ([("MaskField$Value", {"fields": "t"})], 0)],
    ids=["kept", "named", "masked"],
)
def test_a_field_that_transformations_leave_leads_records_to_tables_before_them(steps: list[Step], many: int) -> None:
    values = [b'{"s":"a","t":"db.tt"}'] * 90 + [b'{"s":"a"}', b'{"t":5}', b'{"t":"\xff"}', b"5", b"null"]
    rows = chunk([Row(number, value) for number, value in enumerate(values)])
    prepared = prepare(rows, chain(*steps), envelope=None, columns=True)
    found = assign(router(Route(("t",), dynamic=True)), "t", prepared.values)
    assert sum(map(len, found.tables["db.tt"].columns if found.tables else ())) == many


@pytest.mark.parametrize("steps", [[MASK], [(COPY, {"source.field": "i", "target.field": "j"})]])
def test_deletes_stay_columns(steps: list[Step]) -> None:
    ops = [b'"D"', b'"d"', b'" delete "', b'"u"', b'"I"', b"null", b"5", b'"\\u0044"', b'""', b'"\xc3\xa9"']
    values = [b'{"i":%d,"s":"x","t":%s}' % (number, op) for number, op in enumerate(ops * 10)]
    odd = [b'{"s":"x","t":"D"}', b'{"i":null,"t":"u"}', b'{"i":1,"t":{"D":1}}', b'{"i":1,"t":"D"', b"[]", b"null"]
    rows = chunk([Row(number, value) for number, value in enumerate([*values, *odd])])
    assert compared(steps, rows, whole(), ChangeSpec((("i",),), ("t",))) >= 90
    assert compared([("MaskField$Value", {"fields": "t"})], rows, whole(), ChangeSpec((("i",),), ("t",))) == 0
    inside = chunk([Row(number, b'{"i":1,"in":{"s":%s}}' % op) for number, op in enumerate(ops * 10)])
    assert compared(steps, inside, whole(), ChangeSpec((("i",),), ("in", "s"))) >= 90


def test_copies_stay_columns() -> None:
    rows = chunk(plain_rows(["i", "l", "s", "at", "b"]))
    assert compared([(COPY, {"source.field": "i", "target.field": "j"})], rows, whole()) == 100
    assert compared([(COPY, {"source.field": "s", "target.field": "c"}), MASK], rows, whole()) == 100
    assert compared([(COPY, {"source.field": "zz", "target.field": "s"})], rows, whole()) == 100
    assert compared([(COPY, {"source.field": "at", "target.field": "ts"})], rows, whole()) == 0


def test_upserts_stay_columns() -> None:
    rows = chunk([*plain_rows(["s", "l"]), *(Row(100 + number, b'{"s":"x","i":%d}' % number) for number in range(100))])
    assert compared([MASK], rows, whole(), ChangeSpec((("i",),), None)) == 100


EXTRACT: Step = ("ExtractField$Value", {"field": "after"})


def changed_rows(count: int = 100) -> list[Row]:
    """Changes of a database, of which the rows are to be taken out."""
    inside = (row.value or b"" for row in plain_rows([*FIELDS], count))
    return [Row(number, b'{"op":"c", "after": %s}' % value) for number, value in enumerate(inside)]


def test_a_field_that_is_taken_out_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = chunk(changed_rows())
    compared([EXTRACT], rows, whole())
    assert compared([EXTRACT, MASK], rows, whole()) == 100
    deep: Step = ("ExtractField$Value", {"field": "after.in", "field.syntax.version": "V2"})
    compared([deep], rows, DecodeSpec(Struct((Field("i", Scalar("long")), Field("s", STRING))), evolve=False))
    monkeypatch.setattr(transforms.Transformer, "apply", None)
    assert decoded(prepare(rows, chain(EXTRACT), envelope=None, columns=True).values, whole()).table.num_rows == 100


@pytest.mark.parametrize(
    "odd",
    [
        b'{"after":null}',
        b'{"op":"t"}',
        b"null",
        b'{"after":5}',
        b'{"after":{"i":1},"after":{"i":2}}',
        b'{"after":{"i":"\xff"}}',
        b'{"\xff":1,"after":{}}',
        b'{"x":"\\ud800","after":{"i":1}}',
        b'{"\\ud800":1,"after":{"i":1}}',
        b'{"x":"\x01","after":{"i":1}}',
        b'{"x":01,"after":{"i":1}}',
        b'{"after":{"i":1}',
        b'{"after":{"i":1}} x',
        b'{"\\u0061fter":{"i":3}}',
        b'{"after":{"i":1},"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b"[]",
        b"",
    ],
)
def test_odd_records_of_which_a_field_is_taken_out(odd: bytes) -> None:
    rows = chunk([*changed_rows(40), Row(40, odd), Row(41, None)])
    for steps in ([EXTRACT], [EXTRACT, EXTRACT], [EXTRACT, MASK]):
        compared(steps, rows, whole())


@pytest.mark.parametrize(
    "odd",
    [b'{"i":1},"whole":{"i":2}', b'{"i":1}}', b"5", b"null", b" ", b'{"i":"\xff"}', b' {"i":1,"i":2} ', b'"x"', b"[]"],
)
def test_records_that_are_wrapped_stay_columns(odd: bytes) -> None:
    columns: list[Type] = [Struct((Field("i", Scalar("long")), Field("s", STRING), Field("t", STRING))), STRING]
    rows = chunk([*plain_rows(["i", "s"]), Row(100, odd), Row(101, None)])
    many = []
    for type_ in columns:
        spec = DecodeSpec(Struct((Field("whole", type_),)), evolve=False)
        many.append(compared([("HoistField$Value", {"field": "whole"})], rows, spec))
    assert many[0] >= 100
    assert many[1] <= 2
    compared([EXTRACT, ("HoistField$Value", {"field": "whole"})], chunk([*changed_rows(40), Row(40, odd)]), spec)


@given(st.integers(0, 2**40))
def test_texts_of_fields_that_are_taken_out(seed: int) -> None:
    chance = Random(seed)
    rows = rows_of(chance, odd=0.5)
    found = chain(("ExtractField$Value", chance.choice(STEPS["ExtractField$Value"][:6])))
    quick, slow = (prepare(rows, found, envelope=None, quick=quick) for quick in (True, False))

    def told(prepared: Prepared) -> Any:
        values = prepared.values
        positions = [values.position(index) for index in range(len(values.values))]
        return (
            positions,
            values.values,
            values.topics,
            values.shapes,
            [(at, str(error)) for at, error in prepared.failed],
        )

    assert told(quick) == told(slow)


@pytest.mark.parametrize("many", [0, 100])
@pytest.mark.parametrize(
    ("steps", "value", "stage", "class_name", "reason"),
    [
        ([], b"5", None, None, "the value is not an object but number"),
        ([], b"no JSON", "VALUE_CONVERTER", "JsonConverter", "the value is not JSON: JSON is malformed"),
        ([EXTRACT], b"5", "TRANSFORMATION", "ExtractField$Value", "transformation t0: the value is not an object"),
        ([EXTRACT], b"", "VALUE_CONVERTER", "JsonConverter", "the value is empty"),
        ([EXTRACT], b'{"after":5}', None, None, "the value is not an object but number"),
        ([EXTRACT, EXTRACT], b'{"after":5}', "TRANSFORMATION", "ExtractField$Value", "transformation t1: the value is"),
        ([EXTRACT, MASK], b'{"after":"x"}', "TRANSFORMATION", "MaskField$Value", "transformation t1: the value is not"),
        ([MASK, EXTRACT], b'{"after":[]}', None, None, "the value is not an object but array"),
    ],
)
def test_a_record_fails_in_one_stage_however_many_are_around_it(
    steps: list[Step], value: bytes, stage: str | None, class_name: str | None, reason: str, many: int
) -> None:
    rows = chunk([*changed_rows(many), Row(many, value)])
    table = TableSpec("n.t", whole(), Memory())
    spec = TaskSpec((table,), chain(*steps) if steps else None)
    (dead,) = task.run([rows], spec).tables["n.t"].dead
    assert dead.reason.startswith(reason)
    told = dead.origin and (dead.origin[0], dead.origin[1].rpartition(".")[2])
    assert told == (stage and (stage, class_name))


def test_records_with_a_header_are_changed_apart_from_those_without() -> None:
    rows = [dataclasses.replace(row, headers=(("h", b""),) * (row.offset % 2)) for row in plain_rows(["i", "s", "in"])]
    masked: Step = ("MaskField$Value", {"fields": "s", "predicate": "marked"})
    assert compared([masked], chunk(rows), whole()) == 100
    assert compared([("Filter", {"predicate": "marked"}), MASK], chunk(rows), whole()) == 50
    assert compared([("DropHeaders", {"headers": "h"}), masked], chunk(rows), whole()) == 0
