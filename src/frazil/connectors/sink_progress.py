"""Progress of a sink, as the metrics of its worker tell it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.text.amounts import counted

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.samples import Sample


def progress(metrics: Sequence[Metric], connector: str) -> list[tuple[str, str]]:
    """Facts about lag and newest records of a connector; none where it runs on another worker."""

    def samples(name: str) -> Iterator[Sample]:
        found = (sample for metric in metrics if metric.name == name for sample in metric.samples)
        return (sample for sample in found if sample.labels.get("connector") == connector)

    facts = []
    if lags := [sample.value for sample in samples("frazil_consumer_lag_records")]:
        waits = max((sample.value for sample in samples("frazil_consumer_lag_seconds")), default=0.0)
        facts.append(("Lag", counted(int(sum(lags)), "record") + (f", the first for {waits:,.0f} s" if waits else "")))
    for sample in samples("frazil_newest_record_timestamp_seconds"):
        at = datetime.fromtimestamp(sample.value, UTC)
        facts.append(("Newest record", f"{sample.labels['table']}: {at:%Y-%m-%d %H:%M:%S} UTC"))
    return facts
