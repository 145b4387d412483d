"""Results of object sinks as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bench.markdown import count, markdown_table, memory
from bench.results import ObjectDrain, ObjectRate


def object_drains(drains: Sequence[ObjectDrain]) -> str:
    """A table with a row for each topic that was full."""
    headers = (
        "Objects",
        "records",
        "rec/s",
        "warm rec/s",
        "records per CPU-s",
        "warm records per CPU-s",
        "objects",
        "objects/s",
        "bytes",
        "write p99",
        "peak PSS",
        "records stored",
    )
    return markdown_table(
        headers,
        (
            (
                one.title,
                f"{one.records:,}",
                f"{one.records / one.seconds:,.0f}",
                count(one.warm_rate),
                f"{one.records / one.cpu_s:,.0f}",
                count(one.warm_per_cpu_s),
                f"{one.objects:,}",
                f"{one.objects / one.seconds:,.0f}",
                memory(one.bytes),
                f"{one.write_p99_s * 1000:.0f} ms",
                memory(one.peak_pss),
                "exact" if one.exact else "**wrong**",
            )
            for one in drains
        ),
    )


def object_rates(rates: Sequence[ObjectRate]) -> str:
    """A table with a row for each steady rate."""
    headers = (
        "Objects",
        "rec/s",
        "records",
        "p50",
        "p99",
        "max",
        "warm p99",
        "write p99",
        "warm write p99",
        "objects",
        "cores",
        "peak PSS",
        "slowest production",
        "records stored",
    )
    return markdown_table(
        headers,
        (
            (
                one.title,
                f"{one.rate:,}",
                f"{one.records:,}",
                f"{one.p50_s:.2f} s",
                f"{one.p99_s:.2f} s",
                f"{one.max_s:.2f} s",
                "–" if one.warm_p99_s is None else f"{one.warm_p99_s:.2f} s",
                f"{one.write_p99_s * 1000:.0f} ms",
                "–" if one.warm_write_p99_s is None else f"{one.warm_write_p99_s * 1000:.0f} ms",
                f"{one.objects:,}",
                f"{one.cores:.2f}",
                memory(one.peak_pss),
                f"{one.producer_delay_s:.2f} s",
                "exact" if one.exact else "**wrong**",
            )
            for one in rates
        ),
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
