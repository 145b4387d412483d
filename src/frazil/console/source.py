"""The page of a connector of the runtime of source connectors: states, its snapshot, how far it is behind, its slot."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request

from frazil.connectors.debezium_slot import slot_text
from frazil.connectors.progress import captured
from frazil.console.links import connector_link
from frazil.console.render import Page
from frazil.errors import NotFound, ServiceUnavailable
from frazil.worker.pages import WorkerView
from frazil.worker.rest.masking import masked_value
from frazil.worker.rest.sources import sources_of


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
