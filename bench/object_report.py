"""Results of object sinks as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bench.markdown import count, markdown_columns, markdown_table, memory
from bench.results import ObjectDrain, ObjectRate


def object_drains(drains: Sequence[ObjectDrain]) -> str:
    """A table with a row for each topic that was full."""
    return markdown_columns(
        drains,
        ("Objects", lambda one: one.title),
        ("records", lambda one: f"{one.records:,}"),
        ("rec/s", lambda one: f"{one.records / one.seconds:,.0f}"),
        ("warm rec/s", lambda one: count(one.warm_rate)),
        ("records per CPU-s", lambda one: f"{one.records / one.cpu_s:,.0f}"),
        ("warm records per CPU-s", lambda one: count(one.warm_per_cpu_s)),
        ("objects", lambda one: f"{one.objects:,}"),
        ("objects/s", lambda one: f"{one.objects / one.seconds:,.0f}"),
        ("bytes", lambda one: memory(one.bytes)),
        ("write p99", lambda one: f"{one.write_p99_s * 1000:.0f} ms"),
        ("peak PSS", lambda one: memory(one.peak_pss)),
        ("records stored", lambda one: "exact" if one.exact else "**wrong**"),
    )


def object_rates(rates: Sequence[ObjectRate]) -> str:
    """A table with a row for each steady rate."""
    return markdown_columns(
        rates,
        ("Objects", lambda one: one.title),
        ("rec/s", lambda one: f"{one.rate:,}"),
        ("records", lambda one: f"{one.records:,}"),
        ("p50", lambda one: f"{one.p50_s:.2f} s"),
        ("p99", lambda one: f"{one.p99_s:.2f} s"),
        ("max", lambda one: f"{one.max_s:.2f} s"),
        ("warm p99", lambda one: "–" if one.warm_p99_s is None else f"{one.warm_p99_s:.2f} s"),
        ("write p99", lambda one: f"{one.write_p99_s * 1000:.0f} ms"),
        (
            "warm write p99",
            lambda one: "–" if one.warm_write_p99_s is None else f"{one.warm_write_p99_s * 1000:.0f} ms",
        ),
        ("objects", lambda one: f"{one.objects:,}"),
        ("cores", lambda one: f"{one.cores:.2f}"),
        ("peak PSS", lambda one: memory(one.peak_pss)),
        ("slowest production", lambda one: f"{one.producer_delay_s:.2f} s"),
        ("records stored", lambda one: "exact" if one.exact else "**wrong**"),
    )


def beside_the_seed(rates: Sequence[ObjectRate]) -> str:
    """The table of throughput of the connector's requirements, whose records and machine are not told, and ours."""
    theirs = (
        ("required, 1 worker", "5,000", "250 ms", "–", "0.5", "1 GB"),
        ("required, 2 workers", "15,000", "180 ms", "–", "1.0", "2 GB"),
        ("required, 4 workers", "35,000", "120 ms", "–", "2.0", "4 GB"),
    )
    ours = (
        (
            f"frazil, 1 worker, {one.title}",
            f"{one.rate:,}",
            f"{(one.warm_p99_s or one.p99_s) * 1000:,.0f} ms",
            f"{(one.warm_write_p99_s or one.write_p99_s) * 1000:.0f} ms",
            f"{one.cores:.2f}",
            memory(one.peak_pss),
        )
        for one in rates
    )
    return markdown_table(("", "rec/s", "latency p99", "S3 write p99", "cores", "memory"), (*theirs, *ours))
