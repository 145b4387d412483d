"""Report of one batch, for status and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from frazil.pipeline.results import SkipReason, State
from frazil.text.amounts import counted

_PLACES_NAMED = 3


@dataclass(frozen=True)
class BatchReport:
    """Counts of one committed batch. `read == stored + dead_letters + skipped` holds, but for rows of statements.

    `write_s` is the time that the slowest task spent storing files, `commit_s` that of the commits, both in seconds;
    `object_s` is what each object of an object sink took.
    `invalid` of the dead letters are not valid by a JSON Schema; `validation_s` is how long the slowest task checked
    records by it, in seconds, None where there is none.
    `stored` of a statement are rows, of which a record has several or none; else they are records.
    A record counts once for each table that it goes to, and once when it goes to none. `skipped` are tombstones,
    records that a transformation dropped, and those that no table is for; `skipped_by_reason` tells them apart.
    `newest` are Kafka's times, in epoch ms, of the newest records by table, of object sinks by topic.
    `schema_ids` are the numbers of the schemas that Iceberg tables have.
    `end_offsets` maps (topic, partition) to the next offset to read.
    `places` are the tables or buckets of the connector, `nouns` what a stored record and a file are called there.
    `state` is that of the connector's statement, if it has one.
    `trace_id` is that of the trace of the batch, where it has one.
    """

    connector: str
    read: int
    stored: int
    dead_letters: int
    skipped: int
    files: int
    bytes_written: int
    duration_s: float
    write_s: float
    commit_s: float
    stored_by_topic: dict[str, int] = field(default_factory=dict)
    dead_by_topic: dict[str, int] = field(default_factory=dict)
    skipped_by_reason: dict[SkipReason, int] = field(default_factory=dict)
    end_offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    object_s: Sequence[float] = ()
    invalid: int = 0
    validation_s: float | None = None
    places: Sequence[str] = ()
    nouns: tuple[str, str] = ("row", "file")
    newest: dict[str, int] = field(default_factory=dict)
    schema_ids: dict[str, int] = field(default_factory=dict)
    state: State | None = None
    trace_id: str = ""

    def line(self) -> str:
        """Describe the commits of the batch in one line."""
        row, file = self.nouns
        where = ", ".join(self.places) if len(self.places) <= _PLACES_NAMED else f"{len(self.places)} tables"
        letters = f", {counted(self.dead_letters, 'dead letter')} (`deadletters list`)" if self.dead_letters else ""
        taken = self.skipped_by_reason.get("state", 0)
        skipped = f", {self.skipped - taken:,} skipped" if self.skipped > taken else ""
        if self.state is not None:
            skipped = f", {counted(taken, 'record')} into the state{skipped}"
        return (
            f"connector {self.connector}: {counted(self.stored, row)}{letters}{skipped} into {where}, "
            f"{counted(self.files, file)} in {self.duration_s:.2f} s"
        )


@dataclass(frozen=True)
class Totals:
    """Sums over batches, as `BatchReport` has them. Times are in seconds."""

    batches: int = 0
    read: int = 0
    stored: int = 0
    dead_letters: int = 0
    skipped: int = 0
    files: int = 0
    bytes_written: int = 0
    duration_s: float = 0.0
    write_s: float = 0.0

    @property
    def failure_rate(self) -> float:
        """Dead letters per record read, 0 to 1."""
        return self.dead_letters / self.read if self.read else 0.0

    def plus(self, report: BatchReport) -> Totals:
        """These and one batch more."""
        summed = {name: value + getattr(report, name) for name, value in vars(self).items() if name != "batches"}
        return Totals(batches=self.batches + 1, **summed)
