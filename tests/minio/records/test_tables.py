from __future__ import annotations

import pytest
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.types import IntegerType, LongType, MapType, NestedField, StringType, StructType, TimestamptzType

from frazil.minio.records.kinds import TableKind
from frazil.minio.records.tables import (
    API_SCHEMA,
    AUDIT_SCHEMA,
    ERROR_SCHEMA,
    OLDER_AUDIT_SCHEMA,
    PARTITION_SPECS,
    SCHEMAS,
    TABLE_PROPERTIES,
    table_kind,
)

API = "version time node origin type name bucket object versionId tags callInfo"
CALL_INFO = (
    "httpStatusCode rx tx txHeaders timeToFirstByte requestReadTime responseWriteTime requestTime timeToResponse "
    "readBlocked writeBlocked sourceHost requestID userAgent requestPath requestHost requestClaims requestQuery "
    "requestHeader responseHeader accessKey parentUser"
)
ERROR = "version node time message apiName tags trace"
AUDIT = (
    "version time node apiName category action bucket tags requestID requestClaims sourceHost accessKey parentUser "
    "details"
)


def names(schema: Schema | StructType) -> list[str]:
    return [field.name for field in schema.fields]


def test_columns_and_their_order() -> None:
    assert names(API_SCHEMA) == API.split()
    call_info = API_SCHEMA.find_field("callInfo").field_type
    assert isinstance(call_info, StructType)
    assert names(call_info) == CALL_INFO.split()
    assert names(ERROR_SCHEMA) == ERROR.split()
    assert names(OLDER_AUDIT_SCHEMA) == AUDIT.split()
    assert names(AUDIT_SCHEMA) == [*AUDIT.split(), "message", "metadata"]


@pytest.mark.parametrize(
    ("schema", "last"), [(API_SCHEMA, 43), (ERROR_SCHEMA, 14), (OLDER_AUDIT_SCHEMA, 18), (AUDIT_SCHEMA, 20)]
)
def test_field_ids_have_no_gap(schema: Schema, last: int) -> None:
    assert sorted(index_by_id(schema)) == list(range(1, last + 1))


@pytest.mark.parametrize("schema", SCHEMAS.values())
def test_only_time_is_required(schema: Schema) -> None:
    assert [field.name for field in schema.fields if field.required] == ["time"]
    assert schema.find_type("time") == TimestamptzType()


def test_types_that_differ_from_string() -> None:
    assert API_SCHEMA.find_type("callInfo.httpStatusCode") == IntegerType()
    assert API_SCHEMA.find_type("callInfo.rx") == LongType()
    for schema, path in ((API_SCHEMA, "callInfo.requestClaims"), (AUDIT_SCHEMA, "requestClaims")):
        claims = schema.find_type(path)
        assert isinstance(claims, MapType)
        assert (claims.key_type, claims.value_type) == (StringType(), StringType())


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("api", [("time_day", "day", "time"), ("bucket", "identity", "bucket")]),
        ("error", [("time_day", "day", "time")]),
        ("audit", [("time_day", "day", "time"), ("category", "identity", "category")]),
    ],
)
def test_partition_specs(kind: TableKind, fields: list[tuple[str, str, str]]) -> None:
    schema = SCHEMAS[kind]
    found = [(f.name, str(f.transform), schema.find_column_name(f.source_id)) for f in PARTITION_SPECS[kind].fields]
    assert found == fields


def test_zstd_is_set_explicitly() -> None:
    assert TABLE_PROPERTIES["write.parquet.compression-codec"] == "zstd"
    assert TABLE_PROPERTIES["format-version"] == "2"


@pytest.mark.parametrize("kind", ["api", "error", "audit"])
def test_table_kind_tolerates_added_columns(kind: TableKind) -> None:
    schema = SCHEMAS[kind]
    assert table_kind(schema) == kind
    more = NestedField(900, "region", StringType(), required=False)
    assert table_kind(Schema(more, *reversed(schema.fields))) == kind


def test_table_kind_of_an_older_audit_table() -> None:
    assert table_kind(OLDER_AUDIT_SCHEMA) == "audit"


@pytest.mark.parametrize("kind", ["api", "error", "audit"])
def test_other_tables_have_no_kind(kind: TableKind) -> None:
    fields = SCHEMAS[kind].fields
    for missing in range(len(fields)):
        rest = [field for n, field in enumerate(fields) if n != missing]
        expected = kind if fields[missing].name in ("message", "metadata") and kind == "audit" else None
        assert table_kind(Schema(*rest)) == expected
        retyped = NestedField(800, fields[missing].name, IntegerType(), required=False)
        assert table_kind(Schema(*rest, retyped)) == expected
