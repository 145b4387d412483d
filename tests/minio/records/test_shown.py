from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.minio.records.kinds import TableKind
from frazil.minio.records.shown import shown_columns, shown_names
from frazil.minio.records.tables import AUDIT_SCHEMA, OLDER_AUDIT_SCHEMA, SCHEMAS

OTHER = Schema(NestedField(1, "time", LongType()))


@pytest.mark.parametrize("kind", SCHEMAS)
def test_columns_are_the_same_by_schema_and_by_name(kind: TableKind) -> None:
    schema = SCHEMAS[kind]
    found = shown_columns(schema)
    assert found
    assert shown_names([field.name.upper() for field in schema.fields]) == found
    assert set(found) <= set(schema.column_names)


def test_a_nested_column_has_a_label() -> None:
    assert (shown_columns(SCHEMAS["api"]) or {})["callInfo.httpStatusCode"] == "status"


def test_columns_that_the_table_lacks_are_left_out() -> None:
    assert "message" in (shown_columns(AUDIT_SCHEMA) or {})
    assert "message" not in (shown_columns(OLDER_AUDIT_SCHEMA) or {})
    assert "message" not in (shown_names([field.name for field in OLDER_AUDIT_SCHEMA.fields]) or {})


def test_other_tables_have_none() -> None:
    assert shown_columns(OTHER) is None
    assert shown_names(["time"]) is None
