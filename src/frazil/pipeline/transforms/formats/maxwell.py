"""Change events of Maxwell, which reads MySQL."""

from frazil.pipeline.transforms.formats.change import Change, Format, Layout, key_members
from frazil.pipeline.transforms.record import DataError, Members, Record, object_or_none

_MOVED = (
    "the update changes {}, which is of the key, and one event of Maxwell tells both rows: that with the former key "
    "would stay. Delete the row and insert it anew in the database, then leave this record out"
)
_PREFIX = "pk."
_LAYOUT = Layout(
    name="Maxwell",
    operation=("type",),
    operations={"insert": "I", "bootstrap-insert": "I", "update": "U", "delete": "D"},
    other=frozenset(
        ("bootstrap-start", "bootstrap-complete", "heartbeat")
        + tuple(f"{what}-{how}" for what in ("table", "database") for how in ("create", "alter", "drop"))
    ),
    truncates=frozenset(("table-truncate",)),
    row=("data",),
    ts=("ts",),
    source=(("database",), ("table",)),
)


def _is_event(value: Members) -> bool:
    return value.keys() >= {"database", "table", "type", "ts"}


def _key_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """A key is `{"database": …, "table": …, "pk.id": 1}`."""
    return tuple(name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))


def _change(event: Members, record: Record) -> Change | None:
    change, old = _LAYOUT.change(event, record), event.get("old")
    former = None if old is None else object_or_none(old)
    if change is not None and former:
        moved = [name for name in _key_names(tuple(key_members(record))) if name in former]
        if moved:
            raise DataError(_MOVED.format(", ".join(moved)))
    return change


MAXWELL = Format(is_event=_is_event, change=_change, key_names=_key_names, reads_keys=True)
