"""Iceberg's metadata as the tables that Trino shows beside a table (Trino documentation, Iceberg connector)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.types import PrimitiveType

from frazil.query.metadata_files import files_table, partitions_table

Columns = list[tuple[str, pa.DataType]]

_INSTANT = pa.timestamp("ms", tz="UTC")
_TEXTS = pa.map_(pa.string(), pa.string())


def metadata_table(table: Table, name: str) -> pa.Table:
    """Rows of `name`, one of `names.METADATA_TABLES`, for the current snapshot of a table."""
    return _TABLES[name](table)


def instant(timestamp_ms: int) -> datetime:
    """Iceberg's milliseconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC)


def _snapshots(table: Table) -> pa.Table:
    columns = [
        ("committed_at", _INSTANT),
        ("snapshot_id", pa.int64()),
        ("parent_id", pa.int64()),
        ("operation", pa.string()),
        ("manifest_list", pa.string()),
        ("summary", _TEXTS),
    ]
    return _rows(
        columns,
        (
            (
                instant(snapshot.timestamp_ms),
                snapshot.snapshot_id,
                snapshot.parent_snapshot_id,
                snapshot.summary.operation.value if snapshot.summary else None,
                snapshot.manifest_list,
                list(snapshot.summary.additional_properties.items()) if snapshot.summary else None,
            )
            for snapshot in table.metadata.snapshots
        ),
    )


def _history(table: Table) -> pa.Table:
    columns = [
        ("made_current_at", _INSTANT),
        ("snapshot_id", pa.int64()),
        ("parent_id", pa.int64()),
        ("is_current_ancestor", pa.bool_()),
    ]
    parents = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in table.metadata.snapshots}
    ancestors: set[int] = set()
    current = table.metadata.current_snapshot_id
    while current is not None and current not in ancestors:
        ancestors.add(current)
        current = parents.get(current)
    return _rows(
        columns,
        (
            (
                instant(entry.timestamp_ms),
                entry.snapshot_id,
                parents.get(entry.snapshot_id),
                entry.snapshot_id in ancestors,
            )
            for entry in table.metadata.snapshot_log
        ),
    )


def _refs(table: Table) -> pa.Table:
    columns = [
        ("name", pa.string()),
        ("type", pa.string()),
        ("snapshot_id", pa.int64()),
        ("max_reference_age_in_ms", pa.int64()),
        ("min_snapshots_to_keep", pa.int32()),
        ("max_snapshot_age_in_ms", pa.int64()),
    ]
    return _rows(
        columns,
        (
            (
                name,
                ref.snapshot_ref_type.value.upper(),
                ref.snapshot_id,
                ref.max_ref_age_ms,
                ref.min_snapshots_to_keep,
                ref.max_snapshot_age_ms,
            )
            for name, ref in table.metadata.refs.items()
        ),
    )


def _manifests(table: Table) -> pa.Table:
    summary = pa.struct(
        [
            ("contains_null", pa.bool_()),
            ("contains_nan", pa.bool_()),
            ("lower_bound", pa.string()),
            ("upper_bound", pa.string()),
        ]
    )
    columns = [
        ("path", pa.string()),
        ("length", pa.int64()),
        ("partition_spec_id", pa.int32()),
        ("added_snapshot_id", pa.int64()),
        ("added_data_files_count", pa.int32()),
        ("added_rows_count", pa.int64()),
        ("existing_data_files_count", pa.int32()),
        ("existing_rows_count", pa.int64()),
        ("deleted_data_files_count", pa.int32()),
        ("deleted_rows_count", pa.int64()),
        ("partition_summaries", pa.list_(summary)),
    ]
    snapshot = table.current_snapshot()
    return _rows(
        columns,
        (
            (
                manifest.manifest_path,
                manifest.manifest_length,
                manifest.partition_spec_id,
                manifest.added_snapshot_id,
                manifest.added_files_count,
                manifest.added_rows_count,
                manifest.existing_files_count,
                manifest.existing_rows_count,
                manifest.deleted_files_count,
                manifest.deleted_rows_count,
                _partition_summaries(table, manifest),
            )
            for manifest in (snapshot.manifests(table.io) if snapshot else ())
        ),
    )


def _partition_summaries(table: Table, manifest: ManifestFile) -> list[dict[str, Any]]:
    spec = table.metadata.specs()[manifest.partition_spec_id]
    types = spec.partition_type(table.schema()).fields
    result = []
    for position, summary in enumerate(manifest.partitions or ()):
        partition_field, field_type = spec.fields[position], types[position].field_type
        bounds = [
            partition_field.transform.to_human_string(field_type, from_bytes(field_type, bound))
            if bound is not None and isinstance(field_type, PrimitiveType)
            else None
            for bound in (summary.lower_bound, summary.upper_bound)
        ]
        result.append(
            {
                "contains_null": summary.contains_null,
                "contains_nan": summary.contains_nan,
                "lower_bound": bounds[0],
                "upper_bound": bounds[1],
            }
        )
    return result


def _properties(table: Table) -> pa.Table:
    """The properties, and those that every program shows beside them."""
    shown = {
        **table.properties,
        "current-snapshot-id": str(table.metadata.current_snapshot_id or "none"),
        "format": f"iceberg/{table.properties.get('write.format.default', 'parquet').lower()}",
        "format-version": str(table.metadata.format_version),
        "location": table.location(),
        "provider": "iceberg",
    }
    return _rows([("key", pa.string()), ("value", pa.string())], sorted(shown.items()))


def _metadata_log_entries(table: Table) -> pa.Table:
    entries = table.inspect.metadata_log_entries()
    moments = entries.column("timestamp").cast(pa.timestamp("ms")).cast(_INSTANT)
    return entries.set_column(0, "timestamp", moments)


def _rows(columns: Columns, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    names = [name for name, _ in columns]
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=pa.schema(columns))


_TABLES: dict[str, Callable[[Table], pa.Table]] = {
    "snapshots": _snapshots,
    "history": _history,
    "refs": _refs,
    "manifests": _manifests,
    "files": files_table,
    "partitions": partitions_table,
    "properties": _properties,
    "metadata_log_entries": _metadata_log_entries,
}
