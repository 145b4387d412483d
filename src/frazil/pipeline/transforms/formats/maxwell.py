"""Change events of Maxwell, which reads MySQL."""

from frazil.pipeline.transforms.formats.change import Format, Layout
from frazil.pipeline.transforms.record import Members

_PREFIX = "pk."
_LAYOUT = Layout(
    name="Maxwell",
    operation=("type",),
    operations={"insert": "I", "bootstrap-insert": "I", "update": "U", "delete": "D", "table-truncate": "T"},
    other=frozenset(
        ("bootstrap-start", "bootstrap-complete", "heartbeat")
        + tuple(f"{what}-{how}" for what in ("table", "database") for how in ("create", "alter", "drop"))
    ),
    row=("data",),
    before=("old",),
    ts=("ts",),
    source=(("database",), ("table",)),
)


def _is_event(value: Members) -> bool:
    return value.keys() >= {"database", "table", "type", "ts"}


def _key_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """A key is `{"database": …, "table": …, "pk.id": 1}`."""
    return tuple(name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))


MAXWELL = Format(is_event=_is_event, changes=_LAYOUT.changes, key_names=_key_names, reads_keys=True)
