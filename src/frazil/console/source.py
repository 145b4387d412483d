"""The page of a connector of the runtime of source connectors: states, its snapshot, how far it is behind, its slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import Metric
from starlette.requests import Request

from frazil.connectors.debezium_slot import slot_text
from frazil.console.links import connector_link
from frazil.console.render import Page
from frazil.errors import NotFound, ServiceUnavailable
from frazil.worker.pages import WorkerView
from frazil.worker.rest.masking import masked_value
from frazil.worker.rest.sources import sources_of

_DEBEZIUM = "debezium_metrics_"
_SNAPSHOTS = {
    "Running": "running",
    "Paused": "paused",
    "Aborted": "aborted",
    "Skipped": "skipped",
    "Completed": "completed",
}


@dataclass(frozen=True)
class Setting:
    """A configuration key with its value, without secrets, and what the key means."""

    name: str
    value: str
    documentation: str


def source_page(view: WorkerView, name: str, request: Request) -> Page:
    """Make the page. Raises NotFound."""
    sources = sources_of(request)
    told = {} if sources is None else sources.connectors(request)
    if name not in told:
        raise NotFound(f"Connector {name} not found")
    status, info = told[name].get("status", {}), told[name].get("info", {})
    config = {str(key): str(text) for key, text in info.get("config", {}).items()}
    return Page(
        name,
        "source.html",
        {
            "name": name,
            "link": connector_link(name),
            "connector": status.get("connector", {}),
            "tasks": status.get("tasks", []),
            "progress": _progress(view, name, config),
            "settings": [Setting(key, masked_value(key, text), "") for key, text in config.items()],
        },
        here="connectors",
    )


def _progress(view: WorkerView, name: str, config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Facts about what a connector captures, as far as they are known here."""
    found = [
        (f"Slot {slot}", "not known" if known is None else slot_text(known))
        for (connector, slot), known in view.slots().items()
        if connector == name
    ]
    try:
        metrics = view.source_metrics()
    except ServiceUnavailable as error:
        return [*found, ("Metrics", str(error))]
    return [*captured(metrics, config.get("topic.prefix", "")), *found]


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
        facts.append(("Changes", total("TotalNumberOfEventsSeen", "streaming")))
    behind = [value for value in values("MilliSecondsBehindSource", "streaming") if value >= 0]
    if behind:
        facts.append(("Behind the database", f"{max(behind) / 1000:,.1f} s at its newest change"))
    return facts
