"""Change events of AWS DMS."""

from frazil.pipeline.transforms.formats.change import Format, Layout
from frazil.pipeline.transforms.record import Members, object_or_none

_LAYOUT = Layout(
    name="AWS DMS",
    operation=("metadata", "operation"),
    operations={"load": "I", "insert": "I", "update": "U", "delete": "D", "truncate-table": "T"},
    other=frozenset(
        ("begin-transaction", "commit-transaction", "create-table", "drop-table", "rename-table", "add-column")
        + ("drop-column", "rename-column", "change-columns", "column-type-change")
    ),
    row=("data",),
    before=("before-image",),
    ts=("metadata", "timestamp"),
    source=(("metadata", "schema-name"), ("metadata", "table-name")),
)


def _is_event(value: Members) -> bool:
    """Whether the metadata tells an operation; records of a user may have metadata too."""
    metadata = object_or_none(value["metadata"]) if "metadata" in value else None
    return metadata is not None and {"operation", "record-type"} <= metadata.keys()


DMS_FORMAT = Format(
    is_event=_is_event,
    changes=_LAYOUT.changes,
)
