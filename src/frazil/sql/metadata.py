"""Iceberg's metadata as the tables that Trino shows beside a table (Trino documentation, Iceberg connector)."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, Transform
from pyiceberg.types import (
    BooleanType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    TimestampType,
    TimestamptzType,
)

_INSTANT = pa.timestamp("ms", tz="UTC")
_BOUNDS = pa.map_(pa.int32(), pa.string())
_COUNTS = ("value_count", "null_value_count", "nan_value_count")
# Iceberg's own programs write no more digits of a second than needed.
_LAST_ZEROS = re.compile(r"(\.\d*[1-9])0+(?=[+-]|$)")


def metadata_table(table: Table, name: str) -> pa.Table:
    """Rows of `name`, one of `names.METADATA_TABLES`, for the current snapshot of a table."""
    return _TABLES[name](table)


def instant(timestamp_ms: int) -> datetime:
    """Iceberg's milliseconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC)


def _typed(rows: pa.Table, kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """Rows with some of their columns in Trino's types."""
    for name, kind in kinds.items():
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, pa.field(name, kind), rows.column(place).cast(kind))
    return rows


def _manifests(table: Table) -> pa.Table:
    """The manifests; PyIceberg counts their files and not their rows."""
    rows = table.inspect.manifests()
    snapshot = table.current_snapshot()
    manifests = snapshot.manifests(table.io) if snapshot else []
    columns: dict[str, Any] = {}
    for name in ("path", "length", "partition_spec_id", "added_snapshot_id"):
        columns[name] = rows.column(name)
    for kind in ("added", "existing", "deleted"):
        counts = {"data_files": "files", "rows": "rows"}.items()
        for shown, known in counts:
            width = pa.int32() if known == "files" else pa.int64()
            columns[f"{kind}_{shown}_count"] = pa.array([getattr(m, f"{kind}_{known}_count") for m in manifests], width)
    return pa.table({**columns, "partition_summaries": rows.column("partition_summaries")})


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
    return pa.table({"key": sorted(shown), "value": [shown[key] for key in sorted(shown)]})


def _log_entries(table: Table) -> pa.Table:
    return _typed(
        _typed(table.inspect.metadata_log_entries(), {"timestamp": pa.timestamp("ms")}), {"timestamp": _INSTANT}
    )


def _files(table: Table) -> pa.Table:
    """Make a row per data and delete file; bounds as text by field id, and as JSON values by column name."""
    schema = table.schema()
    types = {i: kind for i in schema.field_ids if isinstance(kind := schema.find_type(i), PrimitiveType)}
    names = sorted((schema.find_column_name(i) or str(i), i) for i in types)
    rows = table.inspect.files()
    texts: dict[str, list[Any]] = {"lower_bounds": [], "upper_bounds": []}
    metrics = []
    for file in rows.select(
        [f"{name}s" for name in ("column_size", *_COUNTS, "lower_bound", "upper_bound")]
    ).to_pylist():
        values = {name: dict(pairs or ()) for name, pairs in file.items()}
        for name, listed in texts.items():
            values[name] = {i: from_bytes(types[i], stored) for i, stored in values[name].items() if i in types}
            listed.append([(i, _text(types[i], value)) for i, value in values[name].items()])
        by_name = {}
        for name, i in names:
            by_name[name] = {count: values[f"{count}s"].get(i) for count in ("column_size", *_COUNTS)}
            for bound in ("lower_bound", "upper_bound"):
                value = values[f"{bound}s"].get(i)
                as_it_is = value is None or isinstance(types[i], BooleanType | IntegerType | LongType)
                by_name[name][bound] = value if as_it_is else _text(types[i], value)
        metrics.append(json.dumps(by_name, ensure_ascii=False, separators=(",", ":")))
    for name, listed in texts.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(listed, _BOUNDS))
    as_json = pa.field("readable_metrics", pa.string(), metadata={"trino": "json"})
    rows = rows.set_column(rows.schema.get_field_index("readable_metrics"), as_json, pa.array(metrics, pa.string()))
    rows = _typed(rows, {"content": pa.int32(), "file_format": pa.string()})
    return rows if table.metadata.specs_struct().fields else rows.drop_columns("partition")


def _text(kind: PrimitiveType, value: Any) -> str:
    transform: Transform[Any, Any] = IdentityTransform()
    written = transform.to_human_string(kind, value)
    return _LAST_ZEROS.sub(r"\1", written) if isinstance(kind, TimestampType | TimestamptzType) else written


def _partitions(table: Table) -> pa.Table:
    """Make a row per partition, with the ranges of the columns that the table is not partitioned by as they are."""
    identity = {f.source_id for f in table.spec().fields if isinstance(f.transform, IdentityTransform)}
    columns = [
        column
        for column in table.schema().fields
        if isinstance(column.field_type, PrimitiveType) and column.field_id not in identity
    ]
    found: dict[str, list[dict[str, Any]]] = {}
    files = table.inspect.data_files()
    for file in files.to_pylist():
        found.setdefault(repr(file["partition"]), []).append(file)
    rows = [
        {
            "partition": group[0]["partition"],
            "record_count": sum(file["record_count"] for file in group),
            "file_count": len(group),
            "total_size": sum(file["file_size_in_bytes"] for file in group),
            "data": {column.name: _range(column, group) for column in columns},
        }
        for group in found.values()
    ]
    ranges = [
        (f.name, pa.struct([("min", f.type), ("max", f.type), ("null_count", pa.int64()), ("nan_count", pa.int64())]))
        for f in schema_to_pyarrow(Schema(*columns), include_field_ids=False)
    ]
    kinds: dict[str, pa.DataType] = {"partition": files.schema.field("partition").type, "data": pa.struct(ranges)}
    empty = {name for name, kind in kinds.items() if not kind.num_fields}
    names = ("partition", "record_count", "file_count", "total_size", "data")
    fields = [(name, kinds.get(name, pa.int64())) for name in names if name not in empty]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def _range(column: NestedField, files: list[dict[str, Any]]) -> dict[str, Any]:
    """Range of a column over the files of a partition; a file without a bound leaves it unknown."""
    said: list[dict[str, Any]] = [
        {
            name: dict(file[name] or ()).get(column.field_id)
            for name in ("null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
        }
        for file in files
    ]
    nulls, nans = ([one[f"{kind}_value_counts"] for one in said] for kind in ("null", "nan"))
    filled = [one for one, file in zip(said, files, strict=True) if one["null_value_counts"] != file["record_count"]]
    lows, highs = ([one[f"{end}_bounds"] for one in filled] for end in ("lower", "upper"))
    kind: Any = column.field_type
    bounded = bool(filled) and None not in lows and None not in highs
    return {
        "min": min(from_bytes(kind, low) for low in lows) if bounded else None,
        "max": max(from_bytes(kind, high) for high in highs) if bounded else None,
        "null_count": None if None in nulls else sum(nulls),
        "nan_count": None if None in nans else sum(nans),
    }


_TABLES: dict[str, Callable[[Table], pa.Table]] = {
    "snapshots": lambda table: _typed(table.inspect.snapshots(), {"committed_at": _INSTANT}),
    "history": lambda table: _typed(table.inspect.history(), {"made_current_at": _INSTANT}),
    "refs": lambda table: _typed(table.inspect.refs(), {"type": pa.string()}),
    "manifests": _manifests,
    "files": _files,
    "partitions": _partitions,
    "properties": _properties,
    "metadata_log_entries": _log_entries,
}
