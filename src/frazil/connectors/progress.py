"""Progress of a connector, as the metrics of its worker and of Debezium tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.connectors.gathering import gathering
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.samples import Sample


def progress(metrics: Sequence[Metric], connector: str, config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Facts about lag and newest records of a connector; none where it runs on another worker.

    `config` is that of a connector that runs, else empty: it tells what records wait for.
    """

    def samples(name: str) -> Iterator[Sample]:
        found = (sample for metric in metrics if metric.name == name for sample in metric.samples)
        return (sample for sample in found if sample.labels.get("connector") == connector)

    facts = []
    if lags := [sample.value for sample in samples("frazil_consumer_lag_records")]:
        waits = max((sample.value for sample in samples("frazil_consumer_lag_seconds")), default=0.0)
        facts.append(("Lag", counted(int(sum(lags)), "record") + (f", the first for {waits:,.0f} s" if waits else "")))
    if reason := gathering(config, [int(lag) for lag in lags]):
        facts.append(("Waiting", reason))
    for sample in samples("frazil_newest_record_timestamp_seconds"):
        at = datetime.fromtimestamp(sample.value, UTC)
        facts.append(("Newest record", f"{sample.labels['table']}: {at:%Y-%m-%d %H:%M:%S} UTC"))
    return facts


_DEBEZIUM = "debezium_metrics_"
_OPERATIONS = {"Create": "insert", "Update": "update", "Delete": "delete"}
_SNAPSHOTS = ("Running", "Paused", "Aborted", "Skipped", "Completed")


def captured(metrics: Sequence[Metric], server: str) -> list[tuple[str, str]]:
    """Facts from Debezium's metrics of the connector with this `topic.prefix`; those of its tasks together."""

    def values(name: str, context: str) -> list[float]:
        samples = (one for metric in metrics if metric.name == _DEBEZIUM + name for one in metric.samples)
        return [one.value for one in samples if (one.labels["name"], one.labels["context"]) == (server, context)]

    def total(name: str, context: str) -> str:
        return f"{sum(values(name, context)):,.0f}"

    facts = []
    states = [state.lower() for state in _SNAPSHOTS if any(values(f"Snapshot{state}", "snapshot"))]
    if states:
        tables = sum(values("TotalTableCount", "snapshot"))
        done = tables - sum(values("RemainingTableCount", "snapshot"))
        rows = total("RowsScanned", "snapshot")
        facts.append(("Snapshot", f"{states[0]}: {done:,.0f} of {tables:,.0f} tables, {rows} rows"))
    if connected := values("Connected", "streaming"):
        facts.append(("Log of the database", "read" if all(connected) else "not read: no connection"))
        kinds = {what: values(f"TotalNumberOf{name}EventsSeen", "streaming") for name, what in _OPERATIONS.items()}
        told = ", ".join(counted(int(sum(numbers)), what) for what, numbers in kinds.items() if numbers)
        facts.append(("Changes", total("TotalNumberOfEventsSeen", "streaming") + (f": {told}" if told else "")))
    behind = [value for value in values("MilliSecondsBehindSource", "streaming") if value >= 0]
    if behind:
        facts.append(("Behind the database", f"{max(behind) / 1000:,.1f} s at its newest change"))
    return facts
