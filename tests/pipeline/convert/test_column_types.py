from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config, parse_iceberg_sink
from frazil.pipeline.convert.column_types import ColumnType, column_type
from tests.connectors.samples import MINIMAL_SINK

TEXT = ColumnType("string")
EVOLVING = MINIMAL_SINK | {"iceberg.tables.evolve-schema-enabled": "true"}


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("map", ColumnType("map", members=(("key", TEXT), ("value", TEXT)))),
        (" JSON ", TEXT),
        ("ignore", None),
        ("timestamptz", ColumnType("timestamptz")),
        ("Decimal( 10 , 2 )", ColumnType("decimal", (10, 2))),
        ("fixed[16]", ColumnType("fixed", (16,))),
        ("fixed(16)", ColumnType("fixed", (16,))),
        ("list<long>", ColumnType("list", members=(("element", ColumnType("long")),))),
        ("map<string, list<int>>", ColumnType("map", members=(
            ("key", TEXT), ("value", ColumnType("list", members=(("element", ColumnType("int")),)))))),
        ("struct<a: int, b: struct<c: date>>", ColumnType("struct", members=(
            ("a", ColumnType("int")), ("b", ColumnType("struct", members=(("c", ColumnType("date")),)))))),
    ],
)  # fmt: skip
def test_types(text: str, type_: ColumnType | None) -> None:
    assert column_type(text) == type_


@pytest.mark.parametrize(
    "text",
    [
        "", "number", "decimal", "decimal(10)", "decimal(39,2)", "decimal(2,3)", "fixed", "fixed[0]", "list", "list<>",
        "list<int", "map<string>", "map<string,int>>", "struct<>", "struct<a>", "struct<a:int,a:int>", "int int",
        "int;",
        "list<" * 100 + "int" + ">" * 100,
    ],
)  # fmt: skip
def test_what_means_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        column_type(text)


def test_paths_are_dotted_and_names_may_be_quoted() -> None:
    keys = {
        "frazil.schema.path.labels": "map",
        "frazil.schema.path.a.element.`b.c`": "long",
        "frazil.schema.path.junk": "ignore",
    }
    assert dict(iceberg_sink_config(EVOLVING | keys).column_types) == {
        ("labels",): column_type("map"),
        ("a", "element", "b.c"): ColumnType("long"),
        ("junk",): None,
    }


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("a", "number", "there is no type number"),
        ("a..b", "map", "the path has an empty name"),
        ("`a", "map", "backtick"),
    ],
)
def test_errors(path: str, text: str, reason: str) -> None:
    (error,) = parse_iceberg_sink(EVOLVING | {f"frazil.schema.path.{path}": text}).error_texts()
    assert error.startswith(f"Invalid value {text} for configuration frazil.schema.path.{path}: ")
    assert reason in error


def test_without_new_columns_it_has_no_effect() -> None:
    parsed = parse_iceberg_sink(MINIMAL_SINK | {"frazil.schema.path.a": "map"})
    assert any(text.startswith("frazil.schema.path.a has no effect here") for text in parsed.warnings)
