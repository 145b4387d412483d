"""DmsTransform: the row of a change event of AWS DMS at the top, and the change in `_cdc`."""

from __future__ import annotations

from frazil.pipeline.transforms.plugin import ICEBERG, Options, Transformation
from frazil.pipeline.transforms.record import (
    NULL,
    Apply,
    Part,
    Record,
    members,
    object_or_none,
    quoted,
    required_text,
)

_OPERATIONS = {"update": "U", "delete": "D"}


def _build(options: Options, part: Part) -> Apply:
    """The row is `data`; a record without `data` and `metadata` objects is dropped."""

    def apply(record: Record) -> bool | None:
        event = members(record, "value")
        if event is None:
            return None
        data, metadata = object_or_none(event.get("data")), object_or_none(event.get("metadata"))
        if data is None or metadata is None:
            return False
        operation, schema, table = (
            required_text(metadata, name, f"metadata.{name}") for name in ("operation", "schema-name", "table-name")
        )
        data["_cdc"] = {
            "op": quoted(_OPERATIONS.get(operation, "I")),
            "ts": metadata.get("timestamp", NULL),
            "source": quoted(f"{schema}.{table}"),
        }
        record.value = data
        return None

    return apply


DMS = Transformation(
    name="DmsTransform",
    documentation="AWS DMS: puts the fields of data at the top, and op, ts and source into _cdc. Drops records "
    "without data and metadata.",
    packages=ICEBERG,
    build=_build,
    writes_operation=True,
)
