"""The steps of a comparison, one after the other; a step that fails is noted and the others go on."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from typing import get_args

from pyiceberg.table import Table

from bench.avro import TITLES as AVRO_TITLES
from bench.avro import Reader as AvroReader
from bench.avro import measure as measure_avro
from bench.avro_drain import WAYS as AVRO_WAYS
from bench.avro_drain import Way as AvroWay
from bench.avro_drain import fill_topics as fill_avro
from bench.avro_drain import measure as drain_avro
from bench.cdc import measure as measure_cdc
from bench.compaction import measure as measure_compaction
from bench.drain import drain
from bench.environment import Show, running
from bench.latency import latency
from bench.limit import Reader
from bench.limit import measure as measure_limit
from bench.load import (
    Details,
    audit_records,
    careful_records,
    fill,
    fixed_records,
    malformed_records,
    short_records,
    spread_records,
)
from bench.many import many_connectors
from bench.merge import measure as measure_merge
from bench.objects import Form, Load, drain_objects, fill_in_turn, steady_objects
from bench.query import QUESTIONS, ask, fill_table
from bench.results import Drain, Results, Upsert
from bench.snapshot import measure as measure_snapshot
from bench.spread import spread
from bench.sql import WAYS, Way, fill_orders
from bench.sql import measure as measure_sql
from bench.systems import FRAZIL, PEER_1, PEER_2, System
from bench.upsert import MODES
from bench.upsert import measure as measure_upsert
from bench.windows import windows
from bench.worker import idle_worker
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.minio.records.kinds import TableKind
from frazil.stack.registry import registry_service

DRAINED = (FRAZIL, PEER_1, PEER_2)
_FLUSH, _SMALL_RECORDS = 25_000, 15_000
_OBJECT_RATE, _RATE_FLUSH = 35_000, 1_000
"""A high rate for one topic, in records per second."""
OBJECT_STEPS = ("objects-json", "objects-parquet", "objects-small", "objects-rate")
STEPS = (
    *(system.name for system in DRAINED),
    *(
        "limit",
        "avro",
        "latency",
        "backlog",
        "audit",
        "strict",
        "malformed",
        "partitions",
        "sql",
        "windows",
        "query",
        "worker",
        "many",
        "upsert",
        "compaction",
        "cdc",
        "snapshot",
    ),
    *OBJECT_STEPS,
)
MALFORMED_EVERY = 100
BUCKETS = 200


@dataclass(frozen=True)
class Plan:
    """What to measure and with how much. `latency_rate` is in records per second, `latency_seconds` how long,
    `change_rate` in changes of the step cdc per second, `commits` those of the step compaction."""

    kind: TableKind
    records: int
    backlog_records: int
    latency_rate: int
    change_rate: int
    commits: int
    latency_seconds: int
    repeat: int
    verify: bool
    steps: Collection[str] = STEPS


def measure(settings: Settings, plan: Plan, results: Results, show: Show, tell: Show) -> None:
    """Take all measurements of the plan into `results`; broker and store have to run.

    `show` gets what a long step is doing, `tell` a line for each finished step.
    """
    runner = _Runner(settings, plan, results, show, tell)
    systems = [system for system in DRAINED if system.name in plan.steps]
    if systems:
        runner.drains(systems)
    for name, step in (
        ("limit", runner.limit),
        ("avro", runner.avro),
        ("latency", runner.latency),
        ("backlog", runner.backlog),
        ("audit", runner.audit),
        ("strict", runner.strict),
        ("malformed", runner.malformed),
        ("partitions", runner.partitions),
        ("sql", runner.sql),
        ("windows", runner.windows),
        ("query", runner.query),
        ("worker", runner.worker),
        ("many", runner.many),
        ("upsert", runner.upsert),
        ("compaction", runner.compaction),
        ("cdc", runner.cdc),
        ("snapshot", runner.snapshot),
        ("objects-json", partial(runner.objects, "json")),
        ("objects-parquet", partial(runner.objects, "parquet")),
        ("objects-small", runner.small_objects),
        ("objects-rate", runner.object_rate),
    ):
        if name in plan.steps:
            step()


class _Runner:
    def __init__(self, settings: Settings, plan: Plan, results: Results, show: Show, tell: Show) -> None:
        self._settings = settings
        self._plan = plan
        self._results = results
        self._show = show
        self._tell = tell
        self._loads: dict[str, Load] = {}

    def drains(self, systems: list[System]) -> None:
        """The same topic for each system; repeats alternate between them, so that a slow hour slows all."""
        topic, count = "bench-records", self._plan.records
        filled = self._step("records", lambda: self._fill(topic, count))
        for number in range(1, self._plan.repeat + 1) if filled else ():
            for system in systems:
                self._drain(self._results.drains, system, self._plan.kind, topic, count, f"{system.name}-{number}")

    def limit(self) -> None:
        for reader in get_args(Reader):
            self._step(f"limit of {reader}", partial(self._limit, reader))

    def avro(self) -> None:
        for reader in get_args(AvroReader):
            self._step(AVRO_TITLES[reader], partial(self._avro, reader))
        self._step("registry and orders", self._avro_drains)

    def _avro_drains(self) -> None:
        """The same orders stored in each way; repeats alternate between them."""
        with running(registry_service(self._settings), self._show):
            fill_avro(self._settings, self._plan.records, self._show)
            for number in range(1, self._plan.repeat + 1):
                for way in AVRO_WAYS:
                    self._step(f"{way}-{number}", partial(self._avro_drain, way, f"orders-{way}-{number}"))

    def _avro_drain(self, way: AvroWay, run: str) -> None:
        result = drain_avro(self._settings, way, self._plan.records, run, self._show)
        self._results.avro.append(result)
        self._tell(f"{result.title}: {result.rate:,.0f} rec/s, {result.per_cpu_s:,.0f} records per CPU-s")

    def latency(self) -> None:
        for system in (FRAZIL, PEER_1):
            self._step(f"latency-{system.name}", partial(self._latency, system))

    def backlog(self) -> None:
        topic, count = "bench-backlog", self._plan.backlog_records
        if self._step("backlog records", lambda: self._fill(topic, count)):
            self._drain(self._results.backlog, FRAZIL, self._plan.kind, topic, count, "backlog")

    def audit(self) -> None:
        for form in get_args(Details):
            system = replace(FRAZIL, title=f"`details`: {form}")
            topic, count = f"bench-audit-{form}", self._plan.records
            fill_topic = partial(fill, self._settings, topic, audit_records(count, form), count, self._show)
            filled = self._step(f"audit records ({form})", fill_topic)
            for number in range(1, self._plan.repeat + 1) if filled else ():
                self._drain(self._results.audit, system, "audit", topic, count, f"audit-{form}-{number}")

    def strict(self) -> None:
        """Records that all need care, beside the plain ones they were made from."""
        count = self._plan.records
        self._pair(self._results.strict, "strict", "need care", careful_records(count), 0)

    def malformed(self) -> None:
        """Records of which some are malformed, beside those of which none is."""
        count, every = self._plan.records, MALFORMED_EVERY
        records = malformed_records(count, every)
        self._pair(self._results.malformed, "malformed", f"1 in {every} malformed", records, count // every)

    def _pair(self, results: list[Drain], name: str, title: str, records: Iterator[bytes], refused: int) -> None:
        count = self._plan.records
        forms = (("plain", "plain", fixed_records("api", count), 0), (name, title, records, refused))
        topics = {form: f"bench-{name}-{form}" for form, *_ in forms}
        filled = [
            self._step(f"records ({label})", partial(fill, self._settings, topics[form], values, count, self._show))
            for form, label, values, _ in forms
        ]
        for number in range(1, self._plan.repeat + 1) if all(filled) else ():
            for form, label, _, bad in forms:
                system = replace(FRAZIL, title=label)
                self._drain(results, system, "api", topics[form], count, f"{name}-{form}-{number}", bad)

    def partitions(self) -> None:
        topic, count = "bench-partitions", self._plan.records
        records = spread_records(count, BUCKETS)
        if self._step("records of many buckets", partial(fill, self._settings, topic, records, count, self._show)):
            self._step("partitions", partial(self._spread, topic, count))

    def _spread(self, topic: str, count: int) -> None:
        result = spread(self._settings, topic, count, "partitions", self._show)
        self._results.spreads.append(result)
        self._tell(f"partitions: at most {result.files_per_value_and_task:.2f} files per partition value and task")

    def sql(self) -> None:
        """The same orders stored in each way; repeats alternate between them."""
        filled = self._step("orders", lambda: fill_orders(self._settings, self._plan.records, self._show))
        for number in range(1, self._plan.repeat + 1) if filled else ():
            for way in WAYS:
                self._step(f"orders-{way}-{number}", partial(self._sql, way, f"orders-{way}-{number}"))

    def _sql(self, way: Way, run: str) -> None:
        result = measure_sql(self._settings, way, self._plan.records, run, self._show)
        self._results.sql.append(result)
        self._tell(f"{result.title}: {result.per_cpu_s:,.0f} records per CPU-s")

    def windows(self) -> None:
        self._step("windows", self._windows)

    def _windows(self) -> None:
        rate, seconds = self._plan.latency_rate, self._plan.latency_seconds
        result = windows(self._settings, rate, seconds, "windows", self._show)
        self._results.latencies.append(result)
        self._tell(f"{result.title}: p50 {result.p50_s:.1f} s, p99 {result.p99_s:.1f} s")

    def query(self) -> None:
        table: list[Table] = []
        rows = self._plan.backlog_records
        if self._step("query table", lambda: table.append(fill_table(self._settings, "bench_query", rows, self._show))):
            for title in QUESTIONS:
                self._step(f"query: {title}", partial(self._question, table[0], title))

    def worker(self) -> None:
        self._step("worker", self._worker)

    def _worker(self) -> None:
        result = idle_worker(self._settings, FRAZIL, "idle", self._show)
        self._results.workers.append(result)
        self._tell(
            f"worker: ready in {result.ready_s:.1f} s, a connector in {result.slowest_running_s:.2f} s, idle "
            f"{result.cores:.3f} cores and {result.pss >> 20:,} MiB"
        )

    def many(self) -> None:
        self._step("many", self._many)

    def _many(self) -> None:
        result = many_connectors(self._settings, "many", self._show)
        self._results.many.append(result)
        self._tell(
            f"many: {result.connectors} connectors run after {result.running_s:.1f} s, idle {result.idle_cores:.3f} "
            f"cores, last rows after {result.drained_s:.1f} s, {result.threads} threads, {result.descriptors} files"
        )

    def upsert(self) -> None:
        for way in (measure_upsert, measure_merge):
            for mode in MODES:
                self._step(f"{way.__module__}: {mode}", partial(self._upsert, way, mode))

    def _upsert(self, way: Callable[[Settings, str, int, Show], Upsert], mode: str) -> None:
        result = way(self._settings, mode, self._plan.backlog_records, self._show)
        self._results.upserts.append(result)
        self._tell(f"{result.mode}: {', '.join(f'{seconds:.1f} s' for seconds in result.seconds)}")

    def compaction(self) -> None:
        for by_need in (True, False):
            self._step(f"compaction, by_need={by_need}", partial(self._compaction, by_need=by_need))

    def _compaction(self, *, by_need: bool) -> None:
        plan = self._plan
        result = measure_compaction(self._settings, plan.records, plan.commits, self._show, by_need=by_need)
        self._results.read_times.append(result)
        self._tell(f"compaction {result.compaction}: reads {', '.join(f'{ratio:.1f}' for ratio in result.ratios)}")

    def cdc(self) -> None:
        self._step("cdc", self._cdc)

    def _cdc(self) -> None:
        for result in measure_cdc(
            self._settings, self._plan.records, self._plan.change_rate, self._plan.latency_seconds, self._show
        ):
            self._results.cdc.append(result)
            self._tell(f"cdc: {result.mode}: p50 {result.p50_s:.1f} s, p99 {result.p99_s:.1f} s")

    def snapshot(self) -> None:
        self._step("snapshot", self._snapshot)

    def _snapshot(self) -> None:
        for result in measure_snapshot(self._settings, self._plan.records, self._show):
            self._results.snapshots.append(result)
            self._tell(f"snapshot: {result.title}: {result.rows / result.seconds:,.0f} rows/s")

    def objects(self, form: Form) -> None:
        count = self._plan.records
        load = self._load("bench-objects", count)
        if load is None:
            return
        for number in range(1, self._plan.repeat + 1):
            run = f"objects-{form}-{number}"
            self._step(run, partial(self._objects, load, form, _FLUSH, run))

    def small_objects(self) -> None:
        load = self._load("bench-small", _SMALL_RECORDS)
        if load is not None:
            self._step("objects-small", partial(self._objects, load, "json", 1, "objects-small"))

    def object_rate(self) -> None:
        self._step("objects-rate", self._object_rate)

    def _load(self, topic: str, count: int) -> Load | None:
        """The records of object sinks, produced once."""

        def produce() -> None:
            values = short_records(count)
            self._loads[topic] = fill_in_turn(self._settings, topic, values, count, self._show)

        if topic not in self._loads:
            self._step(f"records of {topic}", produce)
        return self._loads.get(topic)

    def _objects(self, load: Load, form: Form, flush: int, run: str) -> None:
        result = drain_objects(self._settings, load, form, flush, run, self._show)
        self._results.objects.append(result)
        rate, objects = result.records / result.seconds, result.objects / result.seconds
        self._tell(f"{run}: {rate:,.0f} rec/s, {objects:,.0f} objects/s, write p99 {result.write_p99_s * 1000:.0f} ms")

    def _object_rate(self) -> None:
        plan = self._plan
        records = list(short_records(_OBJECT_RATE))  # again and again: making them costs more than sending
        values = islice(cycle(records), _OBJECT_RATE * plan.latency_seconds)
        result = steady_objects(
            self._settings, values, _OBJECT_RATE, plan.latency_seconds, _RATE_FLUSH, "objects-rate", self._show
        )
        self._results.object_rates.append(result)
        self._tell(
            f"objects-rate: p50 {result.p50_s:.2f} s, p99 {result.p99_s:.2f} s, write p99 "
            f"{result.write_p99_s * 1000:.0f} ms"
        )

    def _question(self, table: Table, title: str) -> None:
        result = ask(self._settings, table, title, self._show)
        self._results.questions.append(result)
        self._tell(f"{title}: {result.seconds:.2f} s, {result.read} of {result.files} files")

    def _limit(self, reader: Reader) -> None:
        self._show(f"limit of {reader}")
        result = measure_limit(self._plan.kind, self._plan.records, reader, self._settings.home)
        self._results.limits.append(result)
        self._tell(f"limit of {reader}: {result.per_cpu_s:,.0f} records per CPU-s")

    def _avro(self, reader: AvroReader) -> None:
        self._show(AVRO_TITLES[reader])
        result = measure_avro(self._plan.records, reader, self._settings.home)
        self._results.limits.append(result)
        self._tell(f"{result.title}: {result.per_cpu_s:,.0f} records per CPU-s")

    def _latency(self, system: System) -> None:
        plan, run = self._plan, f"latency-{system.name}"
        result = latency(self._settings, system, plan.kind, plan.latency_rate, plan.latency_seconds, run, self._show)
        self._results.latencies.append(result)
        self._tell(f"{run}: p50 {result.p50_s:.1f} s, p99 {result.p99_s:.1f} s, last row {result.last_s:.1f} s")

    def _fill(self, topic: str, count: int) -> None:
        fill(self._settings, topic, fixed_records(self._plan.kind, count), count, self._show)

    def _drain(
        self, results: list[Drain], system: System, kind: TableKind, topic: str, count: int, run: str, refused: int = 0
    ) -> None:
        verify = self._plan.verify

        def measured() -> None:
            result = drain(self._settings, system, kind, topic, count, run, self._show, verify=verify, refused=refused)
            results.append(result)
            self._tell(f"{run}: {result.rate:,.0f} rec/s, {result.per_cpu_s:,.0f} records per CPU-s")

        self._step(run, measured)

    def _step(self, name: str, step: Callable[[], object]) -> bool:
        """Whether the step succeeded; a failure of any kind is told and kept for the report, which has the others."""
        try:
            step()
        except FrazilError as error:
            self._fail(name, str(error), str(error))
        except Exception as error:
            self._fail(name, f"{type(error).__name__}: {error}", traceback.format_exc())
        else:
            return True
        return False

    def _fail(self, name: str, message: str, details: str) -> None:
        self._results.failures[name] = " ".join(message.split())
        self._tell(f"{name} failed: {details}")
