"""Random records through Kafka Connect's own classes and through ours."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frazil.pipeline.convert.strict import StageError
from frazil.stack.jars import CONNECT, resolve
from frazil.stack.java import find_java
from tests.isolation import isolated_settings
from tests.pipeline.transforms.chains import after, applied, chain, parsed
from tests.pipeline.transforms.connect import Connect, ConnectError

pytestmark = pytest.mark.stack

NAMES = st.sampled_from(["a", "b", "c", "a.b", "é"])
WHOLE = st.integers(-(2**63), 2**63 - 1)
FRACTIONS = st.floats(allow_nan=False, allow_infinity=False, width=32).map(float)
SCALARS = st.none() | st.booleans() | WHOLE | FRACTIONS | st.text("ab1 .-", max_size=6)
ARRAYS = st.lists(SCALARS, max_size=2)
OBJECTS = st.recursive(
    st.dictionaries(NAMES, SCALARS | ARRAYS, max_size=4),
    lambda inner: st.dictionaries(NAMES, SCALARS | ARRAYS | inner, max_size=4),
    max_leaves=6,
)
MANY = settings(max_examples=150, deadline=None)


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    found = isolated_settings(tmp_path_factory.mktemp("connect"))
    java = find_java(found.env)
    with Connect(java, resolve(CONNECT, java, found.cache, lambda text: None, found.env)) as running:
        yield running


def theirs(connect: Connect, step: tuple[str, Mapping[str, str]], value: bytes) -> Any:
    """The value after Connect's transformation, or the class that failed."""
    try:
        _, found = connect.apply(connect.configured(*step), value)
    except ConnectError:
        return ConnectError
    return parsed(found)


def ours(step: tuple[str, Mapping[str, str]], value: bytes) -> Any:
    """The same through ours; a record that is refused is what Connect's failure is."""
    try:
        return parsed(after(step, value))
    except StageError:
        return ConnectError


def without_nulls(value: Any) -> Any:
    """Absent and null are the same in a table."""
    return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


@MANY
@given(OBJECTS, st.sampled_from([".", "_", ""]))
def test_flatten(connect: Connect, value: dict[str, Any], delimiter: str) -> None:
    step = ("Flatten$Value", {"delimiter": delimiter})
    text = json.dumps(value).encode()
    expected = theirs(connect, step, text)
    if len(expected) == len(leaves(value)):  # else two fields have one name, and Connect's order is that of a hash map
        assert ours(step, text) == expected


def leaves(value: dict[str, Any]) -> list[Any]:
    return [x for v in value.values() for x in (leaves(v) if isinstance(v, dict) else [v])]


@MANY
@given(
    st.dictionaries(NAMES, SCALARS | ARRAYS, max_size=4),
    st.sampled_from(["int8", "int16", "int32", "int64", "float32", "float64", "boolean"]),
)
def test_cast(connect: Connect, value: dict[str, Any], type_: str) -> None:
    step = ("Cast$Value", {"spec": f"a:{type_}"})
    text = json.dumps(value).encode()
    expected, found = theirs(connect, step, text), ours(step, text)
    given_ = value.get("a")
    if found is ConnectError and expected is not ConnectError:  # refused here: wrapped or made up there
        if type_ == "boolean":
            assert isinstance(given_, str) and given_.lower() not in ("true", "false")
        else:
            assert isinstance(given_, int | float) and expected["a"] != int(given_)
    elif found is not ConnectError:
        if type_ == "float32" and isinstance(found.get("a"), float):
            # Java 17 does not always choose the shortest text of a number.
            found["a"], expected["a"] = float(np.float32(found["a"])), float(np.float32(expected["a"]))
        if type_ == "int64" and isinstance(given_, float) and found["a"] != expected["a"]:
            # The text's digits, where Connect has those of the nearest double.
            assert (found["a"], expected["a"]) == (int(Decimal(json.dumps(given_))), int(given_))
            return
        assert without_nulls(found) == without_nulls(expected)
    else:
        assert expected is ConnectError


@MANY
@given(st.dictionaries(NAMES, st.booleans() | WHOLE | st.text("ab1 .-", max_size=6), max_size=4))
def test_cast_to_text(connect: Connect, value: dict[str, Any]) -> None:
    step = ("Cast$Value", {"spec": "a:string,b:string"})
    text = json.dumps(value).encode()

    assert without_nulls(ours(step, text)) == without_nulls(theirs(connect, step, text))


@MANY
@given(OBJECTS, st.sampled_from([None, "7", "7.5", "x"]))
def test_mask_field(connect: Connect, value: dict[str, Any], replacement: str | None) -> None:
    step = ("MaskField$Value", {"fields": "a,é", **({} if replacement is None else {"replacement": replacement})})
    text = json.dumps(value).encode()

    assert without_nulls(ours(step, text)) == without_nulls(theirs(connect, step, text))


@MANY
@given(OBJECTS, st.sets(NAMES), st.sets(NAMES), st.sampled_from(["", "a:b,b:a", "c:d", "a.b:x"]))
def test_replace_field(
    connect: Connect, value: dict[str, Any], include: set[str], exclude: set[str], renames: str
) -> None:
    lists = {"include": ",".join(include), "exclude": ",".join(exclude), "renames": renames}
    step = ("ReplaceField$Value", {name: text for name, text in lists.items() if text})
    text = json.dumps(value).encode()

    assert ours(step, text) == theirs(connect, step, text)


@MANY
@given(OBJECTS, st.sampled_from(["a", "a.b", "b.c", "`a.b`.c", "a.", "c.a.b"]), st.sampled_from(["V1", "V2"]))
def test_extract_field(connect: Connect, value: dict[str, Any], field: str, version: str) -> None:
    step = ("ExtractField$Value", {"field": field, "field.syntax.version": version})
    text = json.dumps(value).encode()

    assert ours(step, text) == theirs(connect, step, text)


PATTERNS = (
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "yyyyMMddHHmmssSSS",
    "EEE, dd MMM yyyy hh:mm:ss.SSS a Z",
    "yy.DDD kk:mm:ss.SSS",
    "M/d/yyyy h:m:s.SSS a",
)
MOMENTS = st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2045, 12, 31)).map(
    lambda moment: round(moment.replace(tzinfo=dt.UTC).timestamp() * 1000)
)


@MANY
@given(MOMENTS, st.sampled_from(PATTERNS))
def test_times_as_text_and_back(connect: Connect, millis: int, pattern: str) -> None:
    to_text = ("TimestampConverter$Value", {"field": "a", "target.type": "string", "format": pattern})
    number = json.dumps({"a": millis}).encode()
    written = ours(to_text, number)
    assert written == theirs(connect, to_text, number)

    to_number = ("TimestampConverter$Value", {"field": "a", "target.type": "unix", "format": pattern})
    text = json.dumps(written).encode()
    assert ours(to_number, text) == theirs(connect, to_number, text)


@MANY
@given(
    st.integers(-(10**15), 10**15),
    st.sampled_from(["seconds", "milliseconds", "microseconds", "nanoseconds"]),
    st.sampled_from(["string", "unix"]),
)
def test_epoch_numbers(connect: Connect, number: int, precision: str, target: str) -> None:
    """Where Connect's milliseconds lose nothing; ours go on to the nanosecond, and to the year 9999 only."""
    per_second = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}[precision]
    number -= number % max(per_second // 1000, 1)
    keys = {"field": "a", "target.type": target, "unix.precision": precision, "format": "yyyy-MM-dd HH:mm:ss.SSS"}
    step = ("TimestampConverter$Value", keys)
    text = json.dumps({"a": number}).encode()
    found = ours(step, text)
    if found is ConnectError:
        assert target == "string"
        assert not -62_135_596_800 <= number // per_second < 253_402_300_800
    elif target == "unix" or number // per_second > -12_219_292_800:  # Java's calendar is Julian before 1582
        assert found == theirs(connect, step, text)


@pytest.mark.parametrize("topic", ["a-5", "ab", "t", "a"])
@pytest.mark.parametrize(
    ("regex", "replacement"),
    [("(.*)-(\\d+)", "$2_$1\\$"), ("a|ab", "x"), ("(a)", "$12"), ("(?<n>a)b", "${n}"), ("a.*+", "p")],
)
def test_regex_router(connect: Connect, topic: str, regex: str, replacement: str) -> None:
    step = ("RegexRouter", {"regex": regex, "replacement": replacement})
    made = applied(chain(step), b"{}", topic=topic)

    assert made is not None
    assert made.topic == connect.apply(connect.configured(*step), b"{}", topic=topic)[0]


@MANY
@given(MOMENTS, st.sampled_from(["yyyyMMdd", "yyyy-MM-dd-HH", "EEEE", "DDD"]))
def test_timestamp_router(connect: Connect, millis: int, pattern: str) -> None:
    step = ("TimestampRouter", {"timestamp.format": pattern})
    made = applied(chain(step), b"{}", timestamp=millis)

    assert made is not None
    assert made.topic == connect.apply(connect.configured(*step), b"{}", timestamp=millis)[0]


def test_insert_field(connect: Connect) -> None:
    keys = {"topic.field": "t", "partition.field": "p!", "offset.field": "o?", "timestamp.field": "ts"}
    step = ("InsertField$Value", {**keys, "static.field": "s", "static.value": "5"})
    value = b'{"a":1}'

    _, expected = connect.apply(connect.configured(*step), value, timestamp=1_700_000_000_123)

    assert ours(step, value) == parsed(expected)
