"""Keys of the maintenance that a connector's tables get from the worker."""

from dataclasses import dataclass

from frazil.declare.definition import Key, Parsed, Value
from frazil.declare.validators import at_least, at_least_if_set

_INTERVAL = "frazil.maintenance.interval.ms"
_KEEP = "frazil.maintenance.keep.ms"
_KEEP_SNAPSHOTS = "frazil.maintenance.keep.snapshots"
_SHORTEST_MS = 60_000


def _interval(value: Value) -> str | None:
    if value == 0:
        return None
    return at_least(_SHORTEST_MS)(value) and f"Value must be 0 (off) or at least {_SHORTEST_MS}"


BY_NEED = "frazil.maintenance.by-need"

MAINTENANCE_KEYS: tuple[Key, ...] = (
    Key(
        BY_NEED,
        "BOOLEAN",
        "Whether commits of changes to a merge-on-read table compact what readers pay for: small files, and data files "
        "of which many rows are deleted.",
        default=True,
    ),
    Key(
        _INTERVAL,
        "LONG",
        "Milliseconds between two maintenance runs over the connector's tables: compaction, manifests, snapshots, "
        "metadata and orphan files. 0 is off, for catalogs that do it by themselves (AIStor, S3 Tables).",
        default=0,
        validator=_interval,
    ),
    Key(
        _KEEP,
        "LONG",
        "Milliseconds for which maintenance keeps snapshots; the table's history.expire.max-snapshot-age-ms when it is "
        "not set, else one day.",
        default=None,
        validator=at_least_if_set(_SHORTEST_MS),
    ),
    Key(
        _KEEP_SNAPSHOTS,
        "INT",
        "How many snapshots maintenance keeps at least; the table's history.expire.min-snapshots-to-keep when it is "
        "not set, else 100.",
        default=None,
        validator=at_least_if_set(1),
    ),
)


@dataclass(frozen=True)
class MaintenanceConfig:
    """Times of a connector's table maintenance, and the snapshots that stay. Times are milliseconds."""

    interval_ms: int
    keep_ms: int | None
    keep_snapshots: int | None


def maintenance_config(parsed: Parsed) -> MaintenanceConfig | None:
    """Parse the maintenance keys; None when it is off."""
    interval = parsed.number(_INTERVAL)
    if not interval:
        return None
    keep, snapshots = parsed.values.get(_KEEP), parsed.values.get(_KEEP_SNAPSHOTS)
    return MaintenanceConfig(
        interval, keep if isinstance(keep, int) else None, snapshots if isinstance(snapshots, int) else None
    )
