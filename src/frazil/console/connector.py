"""The page of one connector: the way of its records, partitions, batches, tasks and configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from frazil.connectors.registry import connector_of, warnings_of
from frazil.connectors.statement_state import state_facts
from frazil.console.chart import points
from frazil.console.links import connector_link, table_link
from frazil.console.render import Fragment, Page
from frazil.console.source import Setting, source_page
from frazil.declare.secrets import hide_secrets
from frazil.engine.runner_api import Progress
from frazil.errors import ConfigError, NotFound
from frazil.text.lists import listed
from frazil.worker.lifecycle.status import ConnectorInfo
from frazil.worker.pages import WorkerView
from frazil.worker.rest.masking import masked_value
from frazil.worker.rest.paths import name_of
from frazil.worker.watch.history import Committed

_BATCHES = 20


@dataclass(frozen=True)
class Partition:
    """A partition that the connector reads: the next offset that is stored, and the end."""

    topic: str
    number: int
    position: int
    end: int
    lag: int


def page(view: WorkerView, request: Request) -> Page:
    """Make the page. Raises NotFound."""
    name = name_of(request)
    try:
        info = view.herder.info(name)
    except NotFound:
        return source_page(view, name, request)
    progress = view.progress(name)
    topics = sorted({topic for topic, _ in progress.ends}) if progress else []
    places = sorted({place for batch in view.history.batches(name) for place in batch.report.places})
    return Page(
        name,
        "connector.html",
        {
            "name": name,
            "link": connector_link(name),
            "info": info,
            "topics": topics or _named_topics(info.config),
            "places": [(place, table_link(place) if "." in place else "") for place in places],
            "settings": settings_of(info),
            "warnings": [hide_secrets(text, info.config) for text in warnings_of(info.config)],
        },
        parts(view, request),
        live=f"/ui/live{connector_link(name).removeprefix('/ui')}",
        here="connectors",
    )


def parts(view: WorkerView, request: Request) -> list[Fragment]:
    """Make what changes: the state, the partitions and the newest batches. Raises NotFound."""
    name = name_of(request)
    status, progress, history = view.herder.status(name), view.progress(name), view.history
    partitions = _partitions(progress) if progress else []
    here, letters = name in view.herder.running_here(), view.letters()
    state: dict[str, Any] = {
        "status": status,
        "overall": status.overall,
        "traces": _traces(status.trace, [task.trace for task in status.tasks.values()]),
        "lag": sum(one.lag for one in partitions) if progress else None,
        "rate": history.rate(name),
        "points": points(history.rates(name)),
        "totals": history.totals(name),
        "letters": None if letters is None else letters.get(name, 0),
        "kept": _kept(history.batches(name)),
        "here": here,
    }
    return [
        Fragment("state", "connector_state.html", {"state": state}),
        Fragment("partitions", "partitions.html", {"partitions": partitions, "here": here}),
        Fragment("batches", "batches.html", {"batches": history.batches(name)[:_BATCHES]}),
    ]


def _kept(batches: Sequence[Committed]) -> list[tuple[str, str]]:
    """Facts about the state of a statement behind the newest batch."""
    state = batches[0].report.state if batches else None
    return [] if state is None else state_facts(state.rows, state.size, state.watermark_ms / 1000)


def _partitions(progress: Progress) -> list[Partition]:
    lag = progress.lag()
    return [
        Partition(topic, number, progress.position.get((topic, number), 0), end, lag[topic, number])
        for (topic, number), end in sorted(progress.ends.items())
    ]


def settings_of(info: ConnectorInfo) -> list[Setting]:
    """The configuration in the order in which it was sent, without secrets."""
    try:
        find = connector_of(info.config).parse(info.config).definition.find
    except ConfigError:
        return [Setting(key, masked_value(key, text), "") for key, text in info.config.items()]
    found = []
    for key, text in info.config.items():
        declared = find(key)
        found.append(Setting(key, masked_value(key, text), "" if declared is None else declared.documentation))
    return found


def _traces(own: str | None, of_tasks: list[str | None]) -> list[str]:
    return list(dict.fromkeys(trace for trace in [own, *of_tasks] if trace))


def _named_topics(config: Mapping[str, str]) -> list[str]:
    return list(listed(config.get("topics", ""))) or [text for text in (config.get("topics.regex", ""),) if text]
