"""Random change events with schemas through Debezium's own transformations and through ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from frazil.pipeline.convert.strict import ConversionError, parse_object
from frazil.pipeline.envelope import JsonEnvelope, columns_of, opened_one, rewritten
from frazil.pipeline.schemas.connect import read_schema
from frazil.pipeline.transforms.chain import Transformer
from frazil.pipeline.transforms.record import UNNAMED, identity, with_types
from frazil.pipeline.transforms.shapes import Shapes
from frazil.pipeline.types import Struct, Typed
from frazil.stack.jars import CONNECT, resolve
from frazil.stack.java import find_java
from frazil.stack.plugins import PLUGINS
from tests.isolation import isolated_settings
from tests.pipeline.transforms.chains import Step, chain, record, text
from tests.pipeline.transforms.connect import Connect, ConnectError
from tests.pipeline.transforms.typed import of, shape

pytestmark = pytest.mark.stack

DEBEZIUM = "io.debezium.transforms."
NAMES = ("a", "b", "c", "d")
TOPIC = "srv.public.users"
STAMP = 1_700_000_000_123
MODES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    found = isolated_settings(tmp_path_factory.mktemp("connect"))
    java = find_java(found.env)
    sets = (CONNECT, PLUGINS["debezium-postgres"])
    jars = [jar for one in sets for jar in resolve(one, java, found.cache, lambda text: None, found.env)]
    with Connect(java, jars, schemas=True) as running:
        yield running


def struct(fields: dict[str, dict[str, Any]], name: str, *, optional: bool = False) -> dict[str, Any]:
    members = [{**schema, "field": field} for field, schema in fields.items()]
    return {"type": "struct", "name": name, "optional": optional, "fields": members}


def scalar(type_: str, *, optional: bool = True) -> dict[str, Any]:
    return {"type": type_, "optional": optional}


def event(chance: Random, columns: dict[str, Any] | None = None) -> bytes:
    """An event of a table with columns by their schemas; random ones unless they are given."""
    defaults: dict[str, Any] = {}
    if columns is None:
        columns = {name: of(chance)[0] for name in chance.sample(NAMES, chance.randint(1, 4))}
        defaults = {name: value_of(chance, schema) for name, schema in columns.items() if chance.random() < 0.2}
    op = chance.choice("crudt")
    states = {"before": op == "d" or (op == "u" and chance.random() < 0.5), "after": op in "cru"}
    rows = {name: row(chance, columns) if there else None for name, there in states.items()}
    for name, default in defaults.items():
        columns[name] |= {"default": default} if isinstance(default, int | float | str) else {}
    value = struct(columns, f"{TOPIC}.Value", optional=True)
    source = {"version": scalar("string", optional=False), "lsn": scalar("int64"), "table": scalar("string")}
    transaction = {"id": scalar("string", optional=False), "total_order": scalar("int64", optional=False)}
    schema = struct(
        {
            "before": value,
            "after": value,
            "source": struct(source, "io.debezium.connector.postgresql.Source"),
            "op": scalar("string", optional=False),
            "ts_ms": scalar("int64"),
            "transaction": struct(transaction, "event.block", optional=True),
        },
        f"{TOPIC}.Envelope",
    )
    payload = {
        **rows,
        "source": {"version": "3.6.1.Final", "lsn": chance.choice([None, 12345678901]), "table": "users"},
        "op": op,
        "ts_ms": chance.choice([None, STAMP]),
        "transaction": chance.choice([None, {"id": "7:1", "total_order": 1}]),
    }
    return json.dumps({"schema": schema, "payload": payload}).encode()


def row(chance: Random, columns: dict[str, Any]) -> dict[str, Any]:
    return {name: value_of(chance, schema) for name, schema in columns.items()}


def value_of(chance: Random, schema: dict[str, Any]) -> Any:
    while True:
        other, value = of(chance)
        if {**other, "optional": True} == {**schema, "optional": True} and (value is not None or schema["optional"]):
            return value


def theirs(connect: Connect, steps: list[Step], value: bytes | None) -> Any:
    try:
        found = connect.after([connect.configured(*step) for step in steps], value, topic=TOPIC, timestamp=STAMP)
    except ConnectError as error:
        return str(error)
    if found is None:
        return None
    headers = [(name, json.loads(value or b"")["payload"]) for name, value in connect.headers(found)]
    return found.topic(), headers, typed(connect.json(found.valueSchema(), found.value()))


def typed(encoded: bytes | None) -> Any:
    """Value and types; None for a tombstone."""
    parsed = {} if encoded is None else msgspec.json.decode(encoded, type=dict[str, msgspec.Raw])
    if not parsed or bytes(parsed["payload"]) == b"null":
        return None
    schema, payload = bytes(parsed["schema"]), bytes(parsed["payload"])
    columns = columns_of(schema)
    name = read_schema(schema).name if columns else None
    return name or "", shape(columns or Struct(())), json.loads(rewritten(schema, payload))


def ours(steps: list[Step], value: bytes | None) -> Any:
    made = record(None, topic=TOPIC, timestamp=STAMP)
    try:
        if value is not None:
            payload, type_ = opened_one(value, JsonEnvelope(), (), TOPIC)
            made.value, made.typed = with_types(parse_object(payload), type_), True
            made.value_schema = identity(Typed(msgspec.Raw(payload), type_)) if type_ else UNNAMED
        if not Transformer(chain(*steps)).apply(made):
            return None
    except ConversionError as error:
        return str(error)
    headers = [(name, json.loads(text(found) or b"null")) for name, found in made.headers]
    if made.value is None:
        return made.topic, headers, None
    assert not isinstance(made.value, bytes)
    types = Shapes().of(made.value, made.value_schema) or Struct(())
    return made.topic, headers, (types.origin, shape(types), json.loads(text(made.value) or b""))


def same(connect: Connect, steps: list[Step], value: bytes | None) -> None:
    expected, found = theirs(connect, steps, value), ours(steps, value)
    assert isinstance(expected, str) == isinstance(found, str), (expected, found)
    if steps[0][0].endswith(".EventRouter"):  # its envelopes have names of Debezium's making
        expected, found = unnamed(expected), unnamed(found)
    assert isinstance(expected, str) or found == expected


def unnamed(found: Any) -> Any:
    """What is found without the name of its schema."""
    return (*found[:2], found[2] and found[2][1:]) if isinstance(found, tuple) else found


@settings(max_examples=400, phases=[Phase.generate], report_multiple_bugs=False, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(MODES),
    st.lists(st.sampled_from(["op", "table", "source.lsn:where", "transaction.id", "total_order", "ts_ms", "none"])),
    st.sampled_from(["op", "op,source.table", "ts_ms,id:tx", ""]),
    st.sampled_from(["", "a"]),
)
def test_extract_new_record_state(
    connect: Connect, seed: int, mode: str, fields: list[str], headers: str, route: str
) -> None:
    keys = {"delete.tombstone.handling.mode": mode, "add.fields": ",".join(dict.fromkeys(fields))}
    keys |= {"add.headers": headers, "route.by.field": route, "add.fields.prefix": "_"}
    chance = Random(seed)
    step = (DEBEZIUM + "ExtractNewRecordState", keys)
    same(connect, [step], None if chance.random() < 0.1 else event(chance))


@settings(max_examples=100, phases=[Phase.generate], report_multiple_bugs=False, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["changed", "a.changed", "new.inner.changed"]))
def test_extract_changed_record_state_and_header_to_value(connect: Connect, seed: int, path: str) -> None:
    names = {"header.changed.name": "Changed", "header.unchanged.name": "Unchanged"}
    keys = {"headers": "Changed", "fields": "changed", "operation": "move"}
    steps: list[Step] = [
        (DEBEZIUM + "ExtractChangedRecordState", names),
        (DEBEZIUM + "HeaderToValue", keys),
        (DEBEZIUM + "ExtractNewRecordState", {"add.fields": "changed:Changed"}),
    ]
    same(connect, steps, event(Random(seed)))


TIMES = {
    "a": {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "version": 1, "optional": True},
    "b": {"type": "string", "name": "io.debezium.time.ZonedTimestamp", "version": 1, "optional": True},
    "c": {"type": "int64", "name": "io.debezium.time.Timestamp", "version": 1, "optional": True},
    "d": {"type": "int32", "name": "io.debezium.time.Date", "version": 1, "optional": True},
    "e": {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1, "optional": True},
    "f": {"type": "string", "name": "io.debezium.time.ZonedTime", "version": 1, "optional": True},
    "n": {"type": "int64", "optional": True},
}


def times(chance: Random) -> dict[str, Any]:
    millis = chance.randint(-(10**12), 4 * 10**12)
    clock = f"{chance.randrange(24):02}:30:{chance.randrange(60):02}"
    fraction = chance.choice(["", ".5", ".123456"])
    values = {
        "a": millis * 1000 + chance.randrange(1000),
        "b": f"{chance.randint(1971, 2080)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}T{clock}{fraction}Z",
        "c": millis,
        "d": 19_000,
        "e": millis,
        "f": f"{clock}Z",
        "n": millis,
    }
    return {name: value if chance.random() < 0.9 else None for name, value in values.items()}


@settings(max_examples=200, phases=[Phase.generate], report_multiple_bugs=False, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "+05:30", "-03:00", "+00:00"]),
    st.sampled_from(
        [
            {},
            {"include.list": "source:users"},
            {"include.list": "source:users:a,users:b"},
            {"include.list": f"topic:{TOPIC}:before.a,{TOPIC}:after.b"},
            {"include.list": "orders:a"},
            {"exclude.list": "source:users:a,users:e"},
            {"exclude.list": f"topic:{TOPIC}"},
            {"exclude.list": "users:b"},
            {"exclude.list": "source:orders"},
        ]
    ),
)
def test_timezone_converter(connect: Connect, seed: int, zone: str, rules: dict[str, str]) -> None:
    chance = Random(seed)
    given_ = json.loads(event(chance, {"n": TIMES["n"]}))
    payload, fields = given_["payload"], given_["schema"]["fields"]
    for place, field in (("before", fields[0]), ("after", fields[1])):
        field["fields"] = [{**schema, "field": name} for name, schema in TIMES.items()]
        if payload[place] is not None:
            payload[place] = times(chance)
            if zone[0] not in "+-":
                payload[place]["f"] = None  # Debezium takes the offset of the day on which it runs
    step = (DEBEZIUM + "TimezoneConverter", {"converted.timezone": zone, **rules})
    same(connect, [step], json.dumps(given_).encode())


OUTBOX = {
    "id": {"type": "string", "optional": False},
    "aggregatetype": {"type": "string", "optional": False},
    "aggregateid": {"type": "string", "optional": False},
    "type": {"type": "string", "optional": True},
    "payload": {"type": "string", "name": "io.debezium.data.Json", "version": 1, "optional": True},
    "at": {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "version": 1, "optional": True},
    "part": {"type": "int32", "optional": False},
}


@settings(max_examples=200, phases=[Phase.generate], report_multiple_bugs=False, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["", "type:header", "type:envelope:kind", "type:envelope,at:header:time", "none:header"]),
    st.sampled_from(["error", "ignore"]),
    st.booleans(),
    st.sampled_from(["outbox.event.${routedByValue}", "fixed"]),
    st.sampled_from(["", "at"]),
)
def test_event_router(
    connect: Connect, seed: int, more: str, missing: str, empties: bool, replacement: str, time: str
) -> None:
    chance = Random(seed)
    given_ = json.loads(event(chance, {"n": TIMES["n"]}))
    for place, field in zip(("before", "after"), given_["schema"]["fields"], strict=False):
        field["fields"] = [{**schema, "field": name} for name, schema in OUTBOX.items()]
        if given_["payload"][place] is not None:
            given_["payload"][place] = {
                "id": "e1",
                "aggregatetype": chance.choice(["order", "customer.new"]),
                "aggregateid": "7",
                "type": chance.choice([None, "OrderCreated"]),
                "payload": chance.choice([None, "", " ", '{"a": 1, "b": "x"}', "text"]),
                "at": chance.choice([None, 1_700_000_000_123_456]),
                "part": 3,
            }
    keys = {  # Debezium's own fails for records of a sink unless a column gives the partition
        "table.fields.additional.placement": f"part:partition,{more}".rstrip(","),
        "table.field.additional.missing": missing,
        "route.tombstone.on.empty.payload": str(empties).lower(),
        "route.topic.replacement": replacement,
        "table.field.event.timestamp": time,
    }
    step = (DEBEZIUM + "outbox.EventRouter", {name: text for name, text in keys.items() if text})
    same(connect, [step], json.dumps(given_).encode())


@pytest.mark.parametrize("topic", [TOPIC, "srv.public.users_shard_12", "other"])
def test_by_logical_table_router(connect: Connect, topic: str) -> None:
    step = (
        DEBEZIUM + "ByLogicalTableRouter",
        {"topic.regex": "(.*)_shard_(\\d+)", "topic.replacement": "$1_all", "key.enforce.uniqueness": "false"},
    )
    found = connect.after([connect.configured(*step)], event(Random(1)), topic=topic)
    made = record(b"{}", topic=topic)
    assert Transformer(chain(step)).apply(made)
    assert made.topic == found.topic()
