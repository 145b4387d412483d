"""What was measured. Times are seconds, memory and sizes are bytes, rates are per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median_low


@dataclass(frozen=True)
class Drain:
    """A topic that was full at the start, read into an empty table.

    `seconds` runs from the moment the connector was sent to the worker until a reader saw the last row. The warm
    figures lie between the first commit and the one that made 95 % of the rows visible; None when that is one commit.
    `distinct` is None unless every row was read and compared. `refused` of the records are to become dead letters.
    """

    system: str
    title: str
    records: int
    rows: int
    seconds: float
    first_commit_s: float
    cpu_s: float
    warm_rate: float | None
    warm_per_cpu_s: float | None
    peak_pss: int
    peak_rss: int
    files: int
    snapshots: int
    distinct: int | None = None
    refused: int = 0

    @property
    def rate(self) -> float:
        return self.records / self.seconds

    @property
    def per_cpu_s(self) -> float:
        return self.records / self.cpu_s

    @property
    def exact(self) -> bool:
        """Whether the table has every record once, as far as it was looked at."""
        stored = self.records - self.refused
        return self.rows == stored and self.distinct in (None, stored)


@dataclass(frozen=True)
class Latency:
    """Records at a steady rate: time from the moment a record was due to be produced until a reader saw its row.

    `last_s` counts from the broker's last acknowledgement to the visibility of the last row. `producer_delay_s` is
    how late the slowest record was produced; it is part of the latencies. `cores` are the processor
    seconds until the last row was visible per second of production.
    """

    title: str
    rate: int
    records: int
    rows: int
    p50_s: float
    p99_s: float
    max_s: float
    last_s: float
    producer_delay_s: float
    cores: float
    peak_pss: int
    snapshots: int

    @property
    def exact(self) -> bool:
        return self.rows == self.records


@dataclass(frozen=True)
class Limit:
    """Records in memory, parsed and written as Parquet by one process on one core; processor seconds of each half."""

    title: str
    records: int
    parse_cpu_s: float
    write_cpu_s: float
    seconds: float

    @property
    def per_cpu_s(self) -> float:
        return self.records / (self.parse_cpu_s + self.write_cpu_s)


@dataclass(frozen=True)
class Question:
    """A statement asked of a table of `rows` rows in `files` files, of which `read` were opened.

    `seconds` is the median inside a process that is up, `program_s` what the command line takes from start to end.
    """

    title: str
    rows: int
    files: int
    read: int
    seconds: float
    program_s: float


@dataclass(frozen=True)
class IdleWorker:
    """A worker without records: from its start until REST answers, from a create until RUNNING, cores and memory with 3
    connectors, answers with 30, and the end of all."""

    title: str
    ready_s: float
    first_running_s: float
    slowest_running_s: float
    cores: float
    pss: int
    list_p99_s: float
    status_p99_s: float
    stop_s: float


@dataclass(frozen=True)
class ManyConnectors:
    """A worker with so many connectors: seconds from the first request until all run, cores without records and with
    a few to each, seconds from the last record until all rows are visible; threads and open files at that time."""

    connectors: int
    running_s: float
    idle_cores: float
    busy_cores: float
    drained_s: float
    threads: int
    descriptors: int


@dataclass(frozen=True)
class Upsert:
    """Changes into a table of `rows` rows, in several rounds; `live` rows are visible at the end.

    `seconds` has one figure for each round: from the first record produced until a reader saw the commit with all of
    them. The first round is that of a worker that has just started. `cpu_s` is the worker's share of a round.
    """

    mode: str
    rows: int
    live: int
    changes: int
    seconds: Sequence[float]
    cpu_s: float
    peak_pss: int
    files: int


@dataclass(frozen=True)
class ReadTimes:
    """Reads of a table of `rows` rows, after every tenth commit of so many `changes`.

    `ratios` are times of reads over those of a table that nothing has changed, `files` how many a reader opened,
    `seconds` how long each commit took until it was visible, `cpu_s` what the worker took for all of them.
    """

    compaction: str
    rows: int
    changes: int
    ratios: Sequence[float]
    files: Sequence[int]
    seconds: Sequence[float]
    cpu_s: float


@dataclass(frozen=True)
class Cdc:
    """Changes of a table of `rows` rows in PostgreSQL, at a steady rate for so many seconds.

    The times run from the commit in the database until a reader saw the snapshot with the change. `cpu_s` is that of
    the worker with Debezium. `written` is the size of all files that the changes brought, `changed` that of the changed
    rows alone. `fresh_s` is how long all rows took to read before the changes, `read_s` after them.
    """

    mode: str
    rows: int
    changes: int
    seconds: int
    p50_s: float
    p99_s: float
    cpu_s: float
    commits: int
    written: int
    changed: float
    fresh_s: float
    read_s: float


@dataclass(frozen=True)
class Snapshot:
    """All rows of a table of PostgreSQL in an Iceberg table, equal to the database's.

    `seconds` runs from the start of the program, or the deployment of the connector, until all rows were visible;
    `inside` leaves out the start of the program. `cpu_s` and `peak_pss` are those of the program, or of the worker with
    Debezium.
    """

    title: str
    rows: int
    seconds: float
    inside: float
    cpu_s: float
    peak_pss: int


@dataclass(frozen=True)
class ObjectDrain:
    """A topic that was full at the start, read into objects.

    `seconds` runs from the moment the connector was sent to the worker until the position was behind the last object.
    The warm figures lie between the first objects and 95 % of the records. `write_p99_s` is what an object took its
    task.
    """

    title: str
    records: int
    objects: int
    bytes: int
    seconds: float
    warm_rate: float | None
    warm_per_cpu_s: float | None
    cpu_s: float
    peak_pss: int
    write_p99_s: float
    exact: bool


@dataclass(frozen=True)
class ObjectRate:
    """Records at a steady rate into objects: time from the moment a record was due until it was stored for good.

    Warm figures are without the beginning; None when there was nothing else.
    """

    title: str
    rate: int
    records: int
    objects: int
    p50_s: float
    p99_s: float
    max_s: float
    warm_p99_s: float | None
    write_p99_s: float
    warm_write_p99_s: float | None
    producer_delay_s: float
    cores: float
    peak_pss: int
    exact: bool


@dataclass(frozen=True)
class Spread:
    """Records of many partition values. For each commit: its rows, partition values, files, and tasks at most."""

    records: int
    commits: Sequence[tuple[int, int, int, int]]

    @property
    def files_per_value_and_task(self) -> float:
        """That of the commit with the most."""
        return max(files / (values * tasks) for _, values, files, tasks in self.commits)


@dataclass
class Results:
    """Everything of one call; `failures` has the message of each step that could not be measured."""

    machine: dict[str, str]
    drains: list[Drain] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    latencies: list[Latency] = field(default_factory=list)
    backlog: list[Drain] = field(default_factory=list)
    audit: list[Drain] = field(default_factory=list)
    strict: list[Drain] = field(default_factory=list)
    malformed: list[Drain] = field(default_factory=list)
    avro: list[Drain] = field(default_factory=list)
    sql: list[Drain] = field(default_factory=list)
    spreads: list[Spread] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    workers: list[IdleWorker] = field(default_factory=list)
    many: list[ManyConnectors] = field(default_factory=list)
    upserts: list[Upsert] = field(default_factory=list)
    read_times: list[ReadTimes] = field(default_factory=list)
    cdc: list[Cdc] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    objects: list[ObjectDrain] = field(default_factory=list)
    object_rates: list[ObjectRate] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether every step ran, and everything is stored once."""
        drains = [*self.drains, *self.backlog, *self.audit, *self.strict, *self.malformed, *self.avro, *self.sql]
        tables: list[Drain | Latency | ObjectDrain | ObjectRate] = [*drains, *self.latencies]
        tables += [*self.objects, *self.object_rates]
        return not self.failures and all(table.exact for table in tables)


def typical(drains: Sequence[Drain]) -> Drain:
    """The run whose rate is the (lower) median. Raises ValueError without runs."""
    rate = median_low([drain.rate for drain in drains])
    return next(drain for drain in drains if drain.rate == rate)
