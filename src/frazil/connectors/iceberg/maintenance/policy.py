"""Tasks of table maintenance, and their results."""

from dataclasses import dataclass
from enum import StrEnum

from pyiceberg.table.refs import MAIN_BRANCH

from frazil.errors import UsageError

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

LEAST_ORPHAN_AGE_MS = DAY_MS
"""A file that a writer has stored and not committed yet is younger than this."""


class Step(StrEnum):
    """The parts of maintenance, in the order in which they run: what one leaves over, a later one removes."""

    COMPACT = "compact"
    MANIFESTS = "manifests"
    EXPIRE = "expire"
    METADATA = "metadata"
    ORPHANS = "orphans"


@dataclass(frozen=True)
class Policy:
    """Times are milliseconds, sizes are bytes. None leaves the choice to the table's properties and their defaults.

    `hot_ms`: partitions that were written within this time are not compacted. `tasks`: how many Spark tasks rewrite
    data at the same time. `force` allows to remove orphan files that are younger than a day.
    """

    steps: frozenset[Step] = frozenset(Step)
    branch: str = MAIN_BRANCH
    hot_ms: int = HOUR_MS
    target_file_bytes: int | None = None
    keep_ms: int | None = None
    keep_snapshots: int | None = None
    orphan_age_ms: int = 3 * DAY_MS
    metadata_age_ms: int = HOUR_MS
    tasks: int = 1
    dry_run: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        if Step.ORPHANS in self.steps and self.orphan_age_ms < LEAST_ORPHAN_AGE_MS and not self.force:
            raise UsageError(
                "files that are younger than a day may belong to a commit that is not made yet; nothing was done. Give "
                "at least 1 day, or force it when nobody writes to the table"
            )
        if self.keep_snapshots is not None and self.keep_snapshots < 1:
            raise UsageError("at least one snapshot has to be kept; nothing was done")


@dataclass(frozen=True)
class StepResult:
    """Result of a step, with `dry_run` the one it would have.

    `unit` is what `before` and `after` count; they are None for a step that failed or was left out, and `note` says
    why. `bytes_removed` is negative when the table has grown.
    """

    step: Step
    unit: str
    before: int | None = None
    after: int | None = None
    bytes_removed: int | None = None
    seconds: float = 0.0
    failed: bool = False
    note: str = ""
