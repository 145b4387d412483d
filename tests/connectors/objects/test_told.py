"""Connect schemas of changed values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.connectors.objects.told import schema_of, with_required
from frazil.pipeline.envelope import type_of
from frazil.pipeline.schemas.connect import DATE, DECIMAL, ConnectSchema, read_schema
from frazil.pipeline.types import Field, List, Map, Scalar, Struct

INT, TEXT = Scalar("int"), Scalar("string")
WHOLE: dict[str, Any] = {
    "type": "struct",
    "name": "shop.Order",
    "version": 3,
    "doc": "an order",
    "parameters": {"owner": "sales"},
    "fields": [
        {"type": "int8", "field": "n", "doc": "how many", "default": 7},
        {"type": "array", "field": "l", "optional": True, "items": {"type": "string", "parameters": {"a": "b"}}},
        {
            "type": "map",
            "field": "m",
            "keys": {"type": "int32"},
            "values": {"type": "struct", "name": "In", "fields": []},
        },
    ],
}


def test_values_that_keep_their_type_keep_their_schema() -> None:
    assert json.loads(schema_of(type_of(json.dumps(WHOLE).encode())).to_json()) == WHOLE


def test_changed_values_may_be_null_and_tell_names_and_versions() -> None:
    inner = Struct((Field("day", Scalar("date", origin=DATE)),), origin="In", version=2)
    type_ = Struct(
        (
            Field("l", List(inner)),
            Field("m", Map(Scalar("string"), Scalar("decimal", 38, 2))),
            Field("t", Scalar("long", origin="timestamp-micros")),
        ),
        origin="Out",
    )
    decimal = {"type": "bytes", "optional": True, "name": DECIMAL, "version": 1, "parameters": {"scale": "2"}}
    day = {"type": "date", "optional": True, "field": "day", "name": DATE, "version": 1}
    items = {"type": "struct", "optional": True, "name": "In", "version": 2, "fields": [day]}
    assert json.loads(schema_of(type_).to_json()) == {
        "type": "struct",
        "optional": True,
        "name": "Out",
        "fields": [
            {"type": "array", "optional": True, "field": "l", "items": items},
            {
                "type": "map",
                "optional": True,
                "field": "m",
                "keys": {"type": "string", "optional": True},
                "values": decimal,
            },
            {"type": "long", "optional": True, "field": "t"},
        ],
    }


@pytest.mark.parametrize("optional", [True, False])
def test_columns_are_required_that_are_not_optional_at_any_depth(optional: bool) -> None:
    one = ConnectSchema("int32", field="x", optional=optional)
    told = ConnectSchema(
        "struct",
        fields=[
            one,
            ConnectSchema("array", field="l", items=ConnectSchema("struct", optional=optional, fields=[one])),
            ConnectSchema("map", field="m", keys=ConnectSchema("string"), values=one),
        ],
    )
    columns = Struct(
        (
            Field("x", INT),
            Field("l", List(Struct((Field("x", INT),)))),
            Field("m", Map(TEXT, INT)),
            Field("other", INT),
        )
    )
    required = not optional
    assert with_required(columns, told) == Struct(
        (
            Field("x", INT, required),
            Field("l", List(Struct((Field("x", INT, required),)), required), required=True),
            Field("m", Map(TEXT, INT, required), required=True),
            Field("other", INT),
        )
    )
    assert read_schema(told.to_json()) == told
