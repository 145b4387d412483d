"""Results as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby
from statistics import median

from bench.markdown import count, markdown_columns, markdown_table, memory
from bench.object_report import beside_the_seed, object_drains, object_rates
from bench.results import (
    Cdc,
    Drain,
    IdleWorker,
    Latency,
    ManyConnectors,
    ReadTimes,
    Results,
    Snapshot,
    Spread,
    Upsert,
    typical,
)


def to_json(results: Results) -> str:
    """All results with the fields of `bench.results`."""
    return json.dumps(asdict(results), indent=2)


def to_markdown(results: Results) -> str:
    """The machine, one table per kind of measurement, and the ratios at the end."""
    parts = ["## Machine", *(f"- {name}: {value}" for name, value in results.machine.items()), ""]
    if results.drains:
        parts += ["## A full topic into an empty table", "", _drains(results.drains), ""]
    if results.limits:
        parts += ["## The limit: one process, one core, records in memory", "", _limits(results), ""]
    if results.latencies:
        parts += ["## A steady rate: from production to visibility", "", _latencies(results.latencies), ""]
    if results.backlog:
        parts += ["## A backlog", "", _drains(results.backlog), ""]
    if results.audit:
        parts += ["## Audit records: `details` as an object beside `details` as text", "", _drains(results.audit), ""]
        parts += _second(results.audit)
    if results.strict:
        parts += ["## Records that all need care", "", _drains(results.strict), "", *_second(results.strict)]
    if results.malformed:
        parts += ["## Malformed records", "", _drains(results.malformed), "", *_second(results.malformed)]
    if results.avro:
        parts += ["## Avro from a registry", "", _drains(results.avro), ""]
    if results.sql:
        parts += ["## SQL in the stream", "", _drains(results.sql), ""]
    if results.spreads:
        parts += ["## Many partition values", "", _spreads(results.spreads), ""]
    if results.questions:
        parts += ["## Questions to a large table", "", _questions(results), ""]
    if results.workers:
        parts += ["## A worker that has nothing to read", "", _workers(results.workers), ""]
    if results.many:
        parts += ["## Many connectors with little to do", "", _many(results.many), ""]
    if results.upserts:
        parts += ["## Changes to a large table", "", _upserts(results.upserts), ""]
    if results.read_times:
        parts += ["## Reads of a table under constant change", "", _read_times(results.read_times), ""]
    if results.cdc:
        parts += ["## Changes in PostgreSQL", "", _cdc(results.cdc), ""]
    if results.snapshots:
        parts += ["## Snapshots of PostgreSQL", "", _snapshots(results.snapshots), ""]
    if results.objects:
        parts += ["## A full topic into objects", "", object_drains(results.objects), ""]
    if results.object_rates:
        parts += ["## A steady rate into objects", "", object_rates(results.object_rates), ""]
        parts += [beside_the_seed(results.object_rates), ""]
    if any(drain.system == "frazil" for drain in results.drains):
        parts += _ratios(results.drains)
    if results.failures:
        parts += ["## Not measured", "", *(f"- {step}: {message}" for step, message in results.failures.items()), ""]
    return "\n".join(parts).rstrip() + "\n"


def _groups(drains: Sequence[Drain]) -> list[list[Drain]]:
    """The runs of each title, in the order of the first run of each."""
    order = list(dict.fromkeys(drain.title for drain in drains))
    ordered = sorted(drains, key=lambda drain: order.index(drain.title))
    return [list(group) for _, group in groupby(ordered, key=lambda drain: drain.title)]


def _drains(drains: Sequence[Drain]) -> str:
    headers = (
        "System",
        "Records",
        "rec/s",
        "warm rec/s",
        "records per CPU-s",
        "warm records per CPU-s",
        "peak PSS",
        "peak RSS",
        "first commit",
        "all visible",
        "files",
        "commits",
        "rows",
    )
    rows = []
    for runs in _groups(drains):
        drain = typical(runs)
        rates = [run.rate for run in runs]
        spread = f" ({min(rates):,.0f}–{max(rates):,.0f} in {len(runs)} runs)" if len(runs) > 1 else ""
        rows.append(
            (
                drain.title,
                f"{drain.records:,}",
                f"{drain.rate:,.0f}{spread}",
                count(drain.warm_rate),
                f"{drain.per_cpu_s:,.0f}",
                count(drain.warm_per_cpu_s),
                memory(drain.peak_pss),
                memory(drain.peak_rss),
                f"{drain.first_commit_s:.1f} s",
                f"{drain.seconds:.1f} s",
                f"{drain.files:,}",
                f"{drain.snapshots:,}",
                _rows(runs),
            )
        )
    return markdown_table(headers, rows)


def _rows(runs: Sequence[Drain]) -> str:
    """`exact`, or the counts of the first run that is not."""
    wrong = next((run for run in runs if not run.exact), None)
    if wrong is None:
        return "exact, all different" if all(run.distinct is not None for run in runs) else "exact"
    distinct = "" if wrong.distinct is None else f", {wrong.distinct:,} different"
    return f"**{wrong.rows:,}{distinct}**"


def _limits(results: Results) -> str:
    return markdown_columns(
        results.limits,
        ("Reader", lambda limit: limit.title),
        ("Records", lambda limit: f"{limit.records:,}"),
        ("records per CPU-s", lambda limit: f"{limit.per_cpu_s:,.0f}"),
        ("parse, µs per record", lambda limit: f"{limit.parse_cpu_s / limit.records * 1e6:.2f}"),
        ("Parquet, µs per record", lambda limit: f"{limit.write_cpu_s / limit.records * 1e6:.2f}"),
    )


def _latencies(latencies: Sequence[Latency]) -> str:
    return markdown_columns(
        latencies,
        ("System", lambda one: one.title),
        ("rec/s", lambda one: f"{one.rate:,}"),
        ("records", lambda one: f"{one.records:,}"),
        ("p50", lambda one: f"{one.p50_s:.2f} s"),
        ("p99", lambda one: f"{one.p99_s:.2f} s"),
        ("max", lambda one: f"{one.max_s:.2f} s"),
        ("last row after the end", lambda one: f"{one.last_s:.2f} s"),
        ("cores", lambda one: f"{one.cores:.2f}"),
        ("peak PSS", lambda one: memory(one.peak_pss)),
        ("commits", lambda one: f"{one.snapshots:,}"),
        ("slowest production", lambda one: f"{one.producer_delay_s:.2f} s"),
        ("rows", lambda one: "exact" if one.exact else f"**{one.rows:,}**"),
    )


def _questions(results: Results) -> str:
    return markdown_columns(
        results.questions,
        ("Question", lambda one: one.title),
        ("rows", lambda one: f"{one.rows:,}"),
        ("files", lambda one: f"{one.files:,}"),
        ("files read", lambda one: f"{one.read:,}"),
        ("answer", lambda one: f"{one.seconds:.2f} s"),
        ("`frazil sql`, start to end", lambda one: f"{one.program_s:.2f} s"),
    )


def _many(several: Sequence[ManyConnectors]) -> str:
    return markdown_columns(
        several,
        ("Connectors", lambda one: str(one.connectors)),
        ("all RUNNING", lambda one: f"{one.running_s:.1f} s"),
        ("cores, idle", lambda one: f"{one.idle_cores:.3f}"),
        ("cores, 10 records/s each", lambda one: f"{one.busy_cores:.2f}"),
        ("last row visible", lambda one: f"{one.drained_s:.1f} s"),
        ("threads", lambda one: f"{one.threads:,}"),
        ("open files", lambda one: f"{one.descriptors:,}"),
    )


def _workers(workers: Sequence[IdleWorker]) -> str:
    return markdown_columns(
        workers,
        ("System", lambda one: one.title),
        ("REST ready", lambda one: f"{one.ready_s:.1f} s"),
        ("first connector RUNNING", lambda one: f"{one.first_running_s:.2f} s"),
        ("slowest of the others", lambda one: f"{one.slowest_running_s:.2f} s"),
        ("cores, 3 connectors", lambda one: f"{one.cores:.3f}"),
        ("PSS, 3 connectors", lambda one: memory(one.pss)),
        ("list of 30, p99", lambda one: f"{one.list_p99_s * 1000:.1f} ms"),
        ("with states, p99", lambda one: f"{one.status_p99_s * 1000:.1f} ms"),
        ("stopped", lambda one: f"{one.stop_s:.1f} s"),
    )


def _upserts(upserts: Sequence[Upsert]) -> str:
    return markdown_columns(
        upserts,
        ("Way", lambda one: one.mode),
        ("rows", lambda one: f"{one.rows:,}"),
        ("changes", lambda one: f"{one.changes:,}"),
        ("until visible", lambda one: ", ".join(f"{seconds:.1f} s" for seconds in one.seconds)),
        ("CPU per round", lambda one: f"{one.cpu_s:.1f} s"),
        ("peak PSS", lambda one: memory(one.peak_pss)),
        ("files at the end", lambda one: f"{one.files:,}"),
        ("rows at the end", lambda one: f"{one.live:,}, exact"),
    )


def _read_times(runs: Sequence[ReadTimes]) -> str:
    return markdown_columns(
        runs,
        ("Compaction", lambda one: one.compaction),
        ("rows", lambda one: f"{one.rows:,}"),
        ("commits", lambda one: f"{len(one.seconds):,} of {one.changes:,} changes"),
        ("read, times a fresh table: median", lambda one: f"{median(one.ratios):.1f}"),
        ("most", lambda one: f"{max(one.ratios):.1f}"),
        ("at the end", lambda one: f"{one.ratios[-1]:.1f}"),
        ("files to open: median", lambda one: f"{median(one.files):.0f}"),
        ("most", lambda one: f"{max(one.files)}"),
        ("commit visible: median", lambda one: f"{median(one.seconds):.1f} s"),
        ("most", lambda one: f"{max(one.seconds):.1f} s"),
        ("CPU per commit", lambda one: f"{one.cpu_s / len(one.seconds):.1f} s"),
    )


def _cdc(runs: Sequence[Cdc]) -> str:
    return markdown_columns(
        runs,
        ("Way", lambda one: one.mode),
        ("rows", lambda one: f"{one.rows:,}"),
        ("changes", lambda one: f"{one.changes:,}"),
        ("rate", lambda one: f"{one.changes / one.seconds:,.0f}/s"),
        ("p50", lambda one: f"{one.p50_s:.1f} s"),
        ("p99", lambda one: f"{one.p99_s:.1f} s"),
        ("changes per CPU-s", lambda one: f"{one.changes / one.cpu_s:,.0f}"),
        ("commits", lambda one: f"{one.commits:,}"),
        ("written", lambda one: f"{one.written / (1 << 20):,.1f} MiB"),
        ("amplified", lambda one: f"{one.written / one.changed:,.1f} times"),
        ("read before", lambda one: f"{one.fresh_s:.2f} s"),
        ("read after", lambda one: f"{one.read_s:.2f} s"),
    )


def _snapshots(runs: Sequence[Snapshot]) -> str:
    return markdown_columns(
        runs,
        ("Way", lambda one: one.title),
        ("rows", lambda one: f"{one.rows:,}"),
        ("seconds", lambda one: f"{one.seconds:.1f} s"),
        ("rows/s", lambda one: f"{one.rows / one.seconds:,.0f}"),
        ("rows/s inside", lambda one: f"{one.rows / one.inside:,.0f}"),
        ("rows per CPU-s", lambda one: f"{one.rows / one.cpu_s:,.0f}"),
        ("peak PSS", lambda one: memory(one.peak_pss)),
        ("rows", lambda one: "exact"),
    )


def _second(drains: Sequence[Drain]) -> list[str]:
    """The second group beside the first."""
    groups = _groups(drains)
    if len(groups) < 2:
        return []
    first, second = typical(groups[0]), typical(groups[1])
    return [
        f"{second.title}, beside {first.title}: {second.rate / first.rate:.2f} times the rate, "
        f"{second.per_cpu_s / first.per_cpu_s:.2f} times the records per CPU-second.",
        "",
    ]


def _spreads(spreads: Sequence[Spread]) -> str:
    headers = ("Records", "commit", "rows", "partition values", "tasks", "files", "files per value and task")
    rows = [
        (f"{spread.records:,}", str(number), f"{count:,}", f"{values:,}", f"{tasks}", f"{files:,}", f"{ratio:.2f}")
        for spread in spreads
        for number, (count, values, files, tasks) in enumerate(spread.commits, 1)
        for ratio in (files / (values * tasks),)
    ]
    return markdown_table(headers, rows)


Figure = Callable[[Drain], float | None]

_HIGHER_IS_BETTER: dict[str, Figure] = {
    "rec/s": lambda drain: drain.rate,
    "warm rec/s": lambda drain: drain.warm_rate,
    "records per CPU-s": lambda drain: drain.per_cpu_s,
    "warm records per CPU-s": lambda drain: drain.warm_per_cpu_s,
}
_LOWER_IS_BETTER: dict[str, tuple[Figure, float, str]] = {
    "peak PSS": (lambda drain: drain.peak_pss, 2**20, " MiB"),
    "all visible": (lambda drain: drain.seconds, 1, " s"),
    "files": (lambda drain: drain.files, 1, ""),
}


def _ratios(drains: Sequence[Drain]) -> list[str]:
    """How many times better frazil is than each peer; nothing without a peer."""
    runs = {group[0].system: typical(group) for group in _groups(drains)}
    frazil = runs.pop("frazil")
    if not runs:
        return []
    headers = ["", "frazil", *(part for peer in runs.values() for part in (peer.title, "frazil is better by"))]
    rows = [
        [name, count(figure(frazil)), *(cell for peer in runs.values() for cell in _pair(figure, peer, frazil))]
        for name, figure in _HIGHER_IS_BETTER.items()
    ]
    for name, (figure, unit, suffix) in _LOWER_IS_BETTER.items():
        cells = [name, count(figure(frazil), unit, suffix)]
        for peer in runs.values():
            cells += [count(figure(peer), unit, suffix), _times(figure(peer), figure(frazil))]
        rows.append(cells)
    return ["## frazil beside Kafka Connect", "", markdown_table(headers, rows), ""]


def _pair(figure: Figure, peer: Drain, frazil: Drain) -> tuple[str, str]:
    return count(figure(peer)), _times(figure(frazil), figure(peer))


def _times(better: float | None, worse: float | None) -> str:
    return f"{better / worse:.2f} ×" if better and worse else "–"
