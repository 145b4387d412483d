"""Columns of a snapshot: the types of the page, and values on the edges of what a column has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from frazil.cdc.columns import kind_of
from frazil.cdc.source import Capture, SourceColumn
from frazil.errors import ConfigError
from frazil.pipeline.envelope import type_of
from tests.cdc.kinds import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "replicate-postgres.md"
JSON = "org.apache.kafka.connect.json.JsonConverter"
NAMES = {
    "boolean": "bool",
    "smallint": "int2",
    "integer": "int4",
    "int": "int4",
    "bigint": "int8",
    "real": "float4",
    "double precision": "float8",
    "char": "bpchar",
    '"char"': "char",
}
"""Names of types in `pg_type` by those of SQL."""


def capture(**modes: str) -> Capture:
    keys = {f"{part}.converter{end}": value for part in ("key", "value") for end, value in (("", JSON),)}
    return Capture.of(
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "dbz",
            "plugin.name": "pgoutput",
            "snapshot.mode": "no_data",
            **keys,
            "value.converter.replace.null.with.default": "false",
            **modes,
        }
    )


def column(text: str) -> SourceColumn:
    """A column of a type as the page writes it."""
    name, numbers, array = re.fullmatch(r"(\w+)(?:\(([\d,]+)\))?(\[\])?", text).groups()  # type: ignore[union-attr]
    digits = [int(number) for number in numbers.split(",")] if numbers else []
    modifier = (digits[0] << 16 | digits[1]) + 4 if len(digits) == 2 else digits[0] if digits else -1
    return SourceColumn("c", name + (array or ""), "b", modifier, key=-1)


def lines() -> Iterator[tuple[list[str], str, dict[str, str]]]:
    """The table of the page: types, their column, and the column in other modes."""
    table = PAGE.read_text("utf-8").split("| Type | Column |")[1].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        types, made, others = (re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|"))
        yield types, made[0], dict(zip(others[::2], others[1::2], strict=True))


def made(text: str, **modes: str) -> str:
    return str(type_of(kind_of(column(text), capture(**modes)).schema.to_json()))


def test_columns_are_those_of_the_page() -> None:
    for types, expected, others in lines():
        for text in types:
            assert made(text) == expected, text
            for mode, other in others.items():
                key, value = mode.split("=")
                assert made(text, **{key: value}) == other, (text, mode)


def test_the_page_has_each_type_that_is_compared_with_changes_and_no_other() -> None:
    page = {re.sub(r"\(.*\)", "", text) for types, _, _ in lines() for text in types}
    plain = (re.sub(r"\(.*?\)", "", kind[0]) for kind in KINDS.values())
    compared = {
        NAMES.get(name.removesuffix("[]"), name.removesuffix("[]")) + "[]" * name.endswith("[]") for name in plain
    }
    assert page == compared - {"mood", "posint", "short"}


@pytest.mark.parametrize(
    ("text", "modes"),
    [
        ("point", {}),
        ("numeric(39,2)", {}),
        ("bit(2)", {}),
        ("varbit", {}),
        ("timetz", {}),
        ("name", {}),
        ("hstore", {}),
        ("date[]", {}),
        ("interval", {"interval.handling.mode": "string"}),
    ],
)
def test_types_that_would_differ_are_refused(text: str, modes: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="column c is .*, whose values"):
        kind_of(column(text), capture(**modes))


def test_a_domain_of_numbers_with_a_scale_is_refused() -> None:
    with pytest.raises(ConfigError, match="column c is of a domain of numeric"):
        kind_of(SourceColumn("c", "numeric", "d", 10, key=-1), capture())


@pytest.mark.parametrize(
    ("text", "value", "modes"),
    [
        ("date", 3_000_000, {"time.precision.mode": "connect"}),
        ("date", -2_147_472_692, {}),
        ("time", 86_400_000_000, {"time.precision.mode": "connect"}),
        ("timestamp", 253_402_300_800_000_000, {"time.precision.mode": "connect"}),
        ("timestamp", -9_222_425_352_054_775_000, {}),
        ("timestamptz", -62_135_596_800_000_001, {}),
    ],
)
def test_times_that_records_would_not_bring_are_errors(text: str, value: int, modes: dict[str, str]) -> None:
    types = {"date": pa.date32(), "time": pa.time64("us"), "timestamp": pa.timestamp("us")}
    array = pa.array([None, value], pa.int32() if text == "date" else pa.int64())
    with pytest.raises(ValueError, match="infinity|year|time of a day"):
        kind_of(column(text), capture(**modes)).convert(array.cast(types.get(text, pa.timestamp("us", "UTC"))))


def test_columns_without_a_value_and_without_rows() -> None:
    for text, type_ in (("timestamptz", pa.timestamp("us", "UTC")), ("date", pa.date32()), ("numeric", pa.string())):
        for count in (0, 2):
            found = kind_of(column(text), capture()).convert(pa.nulls(count, type_))
            assert (len(found), found.null_count) == (count, count)
