"""Columns of log tables that `query` shows: those that tell one record from another at a glance."""

from collections.abc import Collection

from pyiceberg.schema import Schema

from frazil.minio.records.kinds import TableKind
from frazil.minio.records.tables import API_SCHEMA, ERROR_SCHEMA, OLDER_AUDIT_SCHEMA, table_kind

_PATHS: dict[TableKind, tuple[str, ...]] = {
    "api": ("time", "name", "type", "bucket", "object", "callInfo.httpStatusCode", "node", "origin"),
    "error": ("time", "apiName", "message", "node"),
    "audit": ("time", "category", "action", "apiName", "message", "accessKey", "bucket"),
}
_LABELS = {"callInfo.httpStatusCode": "status"}
_KINDS: tuple[tuple[TableKind, Schema], ...] = (
    ("api", API_SCHEMA),
    ("audit", OLDER_AUDIT_SCHEMA),
    ("error", ERROR_SCHEMA),
)


def shown_columns(schema: Schema) -> dict[str, str] | None:
    """Dotted paths of a log table's columns with their labels; None for any other table."""
    kind = table_kind(schema)
    return None if kind is None else _labelled(kind, set(schema.column_names))


def shown_names(names: Collection[str]) -> dict[str, str] | None:
    """Labels of a table of which just the names of the top-level columns are known, in any case."""
    known = {name.lower() for name in names}
    kind = next((kind for kind, schema in _KINDS if {field.name.lower() for field in schema.fields} <= known), None)
    if kind is None:
        return None
    return _labelled(kind, {path for path in _PATHS[kind] if path.partition(".")[0].lower() in known})


def _labelled(kind: TableKind, there: Collection[str]) -> dict[str, str]:
    return {path: _LABELS.get(path, path) for path in _PATHS[kind] if path in there}
