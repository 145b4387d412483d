"""Iceberg tables of the three log kinds: schemas with explicit field ids, partition specs, properties.

Ids run in reading order, as the embedded catalog assigns them; another catalog may number nested fields differently
when it makes the table, so readers and writers take ids from the table.
"""

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import (
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from frazil.minio.records.kinds import TableKind

TABLE_PROPERTIES: dict[str, str] = {
    "format-version": "2",
    # Not every catalog fills the codec in, and a writer then falls back to gzip.
    "write.parquet.compression-codec": "zstd",
    "write.parquet.compression-level": "1",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
    "commit.manifest-merge.enabled": "true",
}

TIME_ID = 2
ERROR_TIME_ID = 3


def _text(field_id: int, name: str, doc: str) -> NestedField:
    return NestedField(field_id, name, StringType(), required=False, doc=doc)


def _field(field_id: int, name: str, field_type: IcebergType, doc: str) -> NestedField:
    return NestedField(field_id, name, field_type, required=False, doc=doc)


def _time(field_id: int) -> NestedField:
    return NestedField(field_id, "time", TimestamptzType(), required=True, doc="Event timestamp")


def _text_map(key_id: int) -> MapType:
    return MapType(key_id, StringType(), key_id + 1, StringType(), value_required=False)


CALL_INFO = StructType(
    _field(14, "httpStatusCode", IntegerType(), "HTTP response status"),
    _field(15, "rx", LongType(), "Input bytes received"),
    _field(16, "tx", LongType(), "Output bytes sent"),
    _field(17, "txHeaders", LongType(), "Header bytes sent"),
    _text(18, "timeToFirstByte", "TTFB duration"),
    _text(19, "requestReadTime", "Request read duration"),
    _text(20, "responseWriteTime", "Response write duration"),
    _text(21, "requestTime", "Total request duration"),
    _text(22, "timeToResponse", "Time to response"),
    _text(23, "readBlocked", "Read blocked duration"),
    _text(24, "writeBlocked", "Write blocked duration"),
    _text(25, "sourceHost", "Client IP address"),
    _text(26, "requestID", "Unique request identifier"),
    _text(27, "userAgent", "Client user agent"),
    _text(28, "requestPath", "Request URL path"),
    _text(29, "requestHost", "Request host header"),
    _field(30, "requestClaims", _text_map(31), "JWT claims"),
    _field(33, "requestQuery", _text_map(34), "Query parameters"),
    _field(36, "requestHeader", _text_map(37), "Request headers"),
    _field(39, "responseHeader", _text_map(40), "Response headers"),
    _text(42, "accessKey", "Access key used"),
    _text(43, "parentUser", "Parent user for service accounts"),
)

API_SCHEMA = Schema(
    _text(1, "version", "Log format version"),
    _time(TIME_ID),
    _text(3, "node", "MinIO node identifier"),
    _text(4, "origin", "Request origin (client, ilm, batch, etc.)"),
    _text(5, "type", "API type (object, bucket, admin, auth, table)"),
    _text(6, "name", "API name (e.g., s3.GetObject)"),
    _text(7, "bucket", "Target bucket name"),
    _text(8, "object", "Target object key"),
    _text(9, "versionId", "Object version ID"),
    _field(10, "tags", _text_map(11), "Custom tags"),
    _field(13, "callInfo", CALL_INFO, "Details of the external call"),
)

TRACE = StructType(
    _field(10, "source", ListType(11, StringType(), element_required=False), "Stack trace source locations"),
    _field(12, "variables", _text_map(13), "Context variables"),
)

ERROR_SCHEMA = Schema(
    _text(1, "version", "Log format version"),
    _text(2, "node", "MinIO node identifier"),
    _time(ERROR_TIME_ID),
    _text(4, "message", "Error message"),
    _text(5, "apiName", "API that triggered the error"),
    _field(6, "tags", _text_map(7), "Custom tags"),
    _field(9, "trace", TRACE, "Trace details"),
)

_OLDER_AUDIT_FIELDS = (
    _text(1, "version", "Log format version"),
    _time(TIME_ID),
    _text(3, "node", "MinIO node identifier"),
    _text(4, "apiName", "Admin API name"),
    _text(5, "category", "Audit category (user, policy, config, etc.)"),
    _text(6, "action", "Action performed (create, update, delete, etc.)"),
    _text(7, "bucket", "Target bucket (if applicable)"),
    _field(8, "tags", _text_map(9), "Custom tags"),
    _text(11, "requestID", "Unique request identifier"),
    _field(12, "requestClaims", _text_map(13), "JWT claims"),
    _text(15, "sourceHost", "Client IP address"),
    _text(16, "accessKey", "Access key used"),
    _text(17, "parentUser", "Parent user for service accounts"),
    _text(18, "details", "JSON text with category-specific details (servers up to v4.7.2 of madmin-go)"),
)

#: Columns of newer servers, since v4.7.3 of madmin-go, added to a table that has those of older ones.
AUDIT_ADDITIONS: tuple[NestedField, ...] = (
    _text(19, "message", "What was done, in one line"),
    _text(20, "metadata", "JSON text with structured details; `diff` holds a before and after pair"),
)

OLDER_AUDIT_SCHEMA = Schema(*_OLDER_AUDIT_FIELDS)
AUDIT_SCHEMA = Schema(*_OLDER_AUDIT_FIELDS, *AUDIT_ADDITIONS)

SCHEMAS: dict[TableKind, Schema] = {"api": API_SCHEMA, "error": ERROR_SCHEMA, "audit": AUDIT_SCHEMA}


def _spec(time_id: int, identity_id: int | None = None, identity_name: str = "") -> PartitionSpec:
    fields = [PartitionField(source_id=time_id, field_id=1000, transform=DayTransform(), name="time_day")]
    if identity_id is not None:
        fields.append(
            PartitionField(source_id=identity_id, field_id=1001, transform=IdentityTransform(), name=identity_name)
        )
    return PartitionSpec(*fields)


PARTITION_SPECS: dict[TableKind, PartitionSpec] = {
    "api": _spec(TIME_ID, 7, "bucket"),
    "error": _spec(ERROR_TIME_ID),
    "audit": _spec(TIME_ID, 5, "category"),
}


def table_kind(schema: Schema) -> TableKind | None:
    """The log kind whose records a table is made for, or None for any other table.

    A table is recognised when it has every top-level column of the kind with the same kind of type; further columns,
    and those of AUDIT_ADDITIONS, do not matter.
    """
    candidates: tuple[tuple[TableKind, Schema], ...] = (
        ("api", API_SCHEMA),
        ("audit", OLDER_AUDIT_SCHEMA),
        ("error", ERROR_SCHEMA),
    )
    columns = {field.name: type(field.field_type) for field in schema.fields}
    for kind, wanted in candidates:
        if all(columns.get(field.name) is type(field.field_type) for field in wanted.fields):
            return kind
    return None
