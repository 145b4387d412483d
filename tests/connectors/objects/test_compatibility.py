"""When a record's schema needs another object than the one before it."""

from __future__ import annotations

import pytest

from frazil.connectors.objects.compatibility import changes
from frazil.connectors.objects.config.object_sink import Compatibility
from frazil.connectors.objects.records import Schema
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type


def schema(version: int | None = 1, name: str = "n", **fields: Type) -> Schema:
    return Schema(b"", Struct(tuple(Field(key, type_) for key, type_ in fields.items())), name, version)


INT, LONG, DOUBLE = Scalar("int"), Scalar("long"), Scalar("double")
MODES: list[Compatibility] = ["BACKWARD", "FORWARD", "FULL"]


def test_without_compatibility_any_other_schema_is_another_object() -> None:
    change = changes("NONE", [schema(a=INT), schema(a=INT)])
    assert (change(0, 0), change(0, 1), change(-1, 0), change(-1, -1)) == (False, True, True, False)


@pytest.mark.parametrize("mode", MODES)
def test_records_with_and_without_a_schema_are_in_different_objects(mode: Compatibility) -> None:
    change = changes(mode, [schema(a=INT)])
    assert (change(-1, -1), change(-1, 0), change(0, -1), change(0, 0)) == (False, True, True, False)


@pytest.mark.parametrize(
    ("mode", "newer", "older"), [("BACKWARD", True, False), ("FULL", True, False), ("FORWARD", False, True)]
)
def test_a_version_that_readers_cannot_take_begins_an_object(mode: Compatibility, newer: bool, older: bool) -> None:
    change = changes(mode, [schema(1, a=INT), schema(2, a=INT), schema(None, a=INT)])
    assert (change(0, 1), change(1, 0)) == (newer, older)
    assert (change(0, 2), change(2, 0)) == (True, True), "one without a version is no older one"


@pytest.mark.parametrize("mode", MODES)
def test_a_schema_of_another_name_begins_an_object(mode: Compatibility) -> None:
    assert changes(mode, [schema(a=INT), schema(name="other", a=INT)])(0, 1)


@pytest.mark.parametrize(
    ("column", "value", "fits"),
    [
        (LONG, INT, True),
        (INT, LONG, False),
        (DOUBLE, LONG, True),
        (STRING, INT, False),
        (List(DOUBLE), List(INT), True),
        (List(INT), List(STRING), False),
        (Map(STRING, LONG), Map(STRING, INT), True),
        (Map(STRING, LONG), Map(INT, LONG), False),
        (Struct((Field("x", LONG), Field("y", INT))), Struct((Field("x", INT),)), True),
        (Struct((Field("x", INT),)), Struct((Field("x", STRING),)), False),
        (List(INT), INT, False),
        (Struct((Field("x", INT, required=True),)), Struct((Field("x", INT, required=True),)), True),
        (Struct((Field("x", INT),)), Struct((Field("x", INT, required=True),)), True),
        (Struct((Field("x", INT, required=True),)), Struct((Field("x", INT),)), False),
        (Struct((Field("x", INT, required=True), Field("y", INT))), Struct((Field("y", INT),)), False),
        (List(INT, element_required=True), List(INT), False),
        (Map(STRING, INT, value_required=True), Map(STRING, INT), False),
    ],
)
def test_values_that_do_not_fit_the_columns_begin_an_object(column: Type, value: Type, fits: bool) -> None:
    assert changes("FULL", [schema(a=column), schema(a=value)])(0, 1) != fits
