"""DmsTransform: the row of a change event of AWS DMS at the top, and the change in `_cdc`."""

from frazil.pipeline.transforms.following import Following
from frazil.pipeline.transforms.plugin import ICEBERG, Options, Transformation
from frazil.pipeline.transforms.record import (
    NULL,
    UNNAMED,
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
    following = Following(options)

    def apply(record: Record) -> bool | None:
        event = members(record, "value")
        if event is None:
            return None
        data, metadata, before = (object_or_none(event.get(name)) for name in ("data", "metadata", "before-image"))
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
        record.value_schema, record.value = UNNAMED, data
        if operation == "update":
            following.update(record, data, before)
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
