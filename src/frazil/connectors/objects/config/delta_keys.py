"""Keys of Delta tables, which object sinks write with `format.class=frazil.DeltaFormat`."""

from dataclasses import dataclass

from frazil.declare.definition import Key, Parsed
from frazil.declare.validators import at_least

DELTA_FORMAT = "frazil.DeltaFormat"
MOST = "frazil.delta.max.columns"

DELTA_KEYS: tuple[Key, ...] = (
    Key("frazil.delta.table.name", "STRING", "Name of the Delta table in its metadata.", default=""),
    Key(
        "frazil.delta.evolve.enable",
        "BOOLEAN",
        "Whether fields that the Delta table does not have become columns; without it they are left out.",
        default=True,
    ),
    Key(
        MOST,
        "INT",
        "Most columns, nested ones included, that new fields may bring a Delta table to; records that bring more are "
        "dead letters.",
        default=1000,
        validator=at_least(1),
    ),
    Key(
        "frazil.delta.optimize.interval",
        "INT",
        "Commits after which small files of the Delta table are put together; 0 is never.",
        default=0,
        validator=at_least(0),
    ),
    Key(
        "frazil.delta.vacuum.hours",
        "INT",
        "Files that the Delta table has not had for so many hours are deleted when small ones are put together, or "
        "after 10 commits where they are not; -1 is never.",
        default=-1,
        validator=at_least(-1),
    ),
    Key(
        "frazil.delta.checkpoint.interval",
        "INT",
        "Commits between two checkpoints of the Delta table's log, set when the table is made.",
        default=10,
        importance="LOW",
        validator=at_least(1),
    ),
)


@dataclass(frozen=True)
class DeltaConfig:
    """Upkeep of the table; intervals count commits. None for what is not done."""

    table_name: str | None = None
    evolve: bool = True
    max_columns: int = 1000
    optimize_interval: int | None = None
    vacuum_hours: int | None = None
    checkpoint_interval: int = 10


def delta_config(parsed: Parsed) -> DeltaConfig:
    """The typed result of a configuration without errors."""
    optimize, vacuum = parsed.number("frazil.delta.optimize.interval"), parsed.number("frazil.delta.vacuum.hours")
    return DeltaConfig(
        parsed.text("frazil.delta.table.name") or None,
        parsed.flag("frazil.delta.evolve.enable"),
        parsed.number(MOST),
        optimize or None,
        vacuum if vacuum >= 0 else None,
        parsed.number("frazil.delta.checkpoint.interval"),
    )
