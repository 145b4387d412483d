"""The first page: every connector with its state and rate, and what is wrong on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from textwrap import shorten
from typing import Any

from starlette.requests import Request

from frazil.connectors.debezium_slot import slot_text
from frazil.connectors.registry import connector_of
from frazil.console.chart import points
from frazil.console.links import connector_link
from frazil.console.render import Fragment, Page
from frazil.errors import ConfigError, FrazilError, NotFound
from frazil.text.amounts import counted
from frazil.worker.lifecycle.status import ConnectorInfo
from frazil.worker.pages import WorkerView
from frazil.worker.rest.sources import sources_of

_SHOWN = 300
_ROW = "row.html"
_WRONG = ("FAILED", "RESTARTING", "UNASSIGNED")
_ORDER = ("FAILED", "RESTARTING", "UNASSIGNED", "RUNNING", "PAUSED", "STOPPED")


@dataclass(frozen=True)
class Row:
    """A connector of the list. `rate` and `lag` are None where another process knows them; `letters` are the open dead
    letters, None while they are not known."""

    name: str
    kind: str
    plugin: str
    state: str
    worker: str
    trace: str
    rate: float | None = None
    lag: int | None = None
    committed_at: float | None = None
    letters: int | None = None
    points: str = ""

    @property
    def link(self) -> str:
        return connector_link(self.name)

    @property
    def id(self) -> str:
        """Id of its row on the page, of plain characters."""
        return f"row-{blake2b(self.name.encode(errors='surrogatepass'), digest_size=8).hexdigest()}"


@dataclass(frozen=True)
class Problem:
    """A fault of a connector, and the next step; `to` is the page for it."""

    connector: str
    what: str
    step: str
    to: str = ""

    @property
    def link(self) -> str:
        return connector_link(self.connector) if self.connector else ""


def page(view: WorkerView, request: Request) -> Page:
    """Make the page."""
    found = parts(view, request)
    ids = [one.id for one in found if one.template == _ROW]
    return Page("Connectors", "overview.html", {"rows": ids}, found, live="/ui/live", here="connectors")


def parts(view: WorkerView, request: Request) -> list[Fragment]:
    """Make what changes: the problems, the sums, and a row for each connector."""
    found, notices = rows(view, request)
    letters = view.letters()
    if letters is not None:
        found = [row if row.kind == "source" else replace(row, letters=letters.get(row.name, 0)) for row in found]
    problems = [*notices, *problems_of(view, found), *letter_problems(found, letters or {})]
    shown = sorted(found, key=lambda row: (_ORDER.index(row.state) if row.state in _ORDER else 0, row.name))
    summary = {state: sum(row.state == state for row in found) for state in _ORDER}
    total: dict[str, Any] = {
        "count": len(found),
        "states": {state: count for state, count in summary.items() if count},
        "rate": sum(row.rate or 0.0 for row in found),
        "lag": sum(row.lag or 0 for row in found),
        "starting": not view.herder.started,
        "spark": view.settings.spark_ui_port,
    }
    return [
        Fragment("problems", "problems.html", {"problems": problems}),
        Fragment("summary", "summary.html", {"total": total}),
        Fragment("workers", "workers.html", {"workers": workers_of(view, found)}),
        *(Fragment(row.id, _ROW, {"row": row}) for row in shown),
    ]


@dataclass(frozen=True)
class Worker:
    """A worker of the group, with the connectors that run on it and those of them that do not run as they should."""

    url: str
    leads: bool
    connectors: int
    wrong: int

    @property
    def name(self) -> str:
        return self.url.partition("://")[2]


def workers_of(view: WorkerView, found: Sequence[Row]) -> list[Worker]:
    """Find the workers of the group; none where this one is alone."""
    by_worker: dict[str, list[Row]] = {}
    for row in found:
        by_worker.setdefault(row.worker, []).append(row)
    several = view.workers()
    return [
        Worker(url, leads, len(own), sum(row.state in _WRONG for row in own))
        for url, leads in (several if len(several) > 1 else {}).items()
        for own in [by_worker.get(url.partition("://")[2], [])]
    ]


def rows(view: WorkerView, request: Request) -> tuple[list[Row], list[Problem]]:
    """The connectors of this worker and its group, and those of the runtime; with a problem when that cannot tell."""
    herder = view.herder
    infos, here = herder.infos(), set(herder.running_here())
    found = [row for row in (_own(view, info, here=info.name in here) for info in infos) if row is not None]
    sources = sources_of(request)
    if sources is None or not herder.started:
        return found, []
    try:
        told = sources.connectors(request)
    except FrazilError as error:
        return found, [Problem("", f"The source connectors are not known: {error}", "Look at the worker's log.")]
    return [*found, *(_foreign(name, one) for name, one in told.items())], []


def _own(view: WorkerView, info: ConnectorInfo, *, here: bool) -> Row | None:
    """A connector of the group; None for one that was deleted since it was listed."""
    name = info.name
    try:
        status = view.herder.status(name)
    except NotFound:
        return None
    try:
        plugin = connector_of(info.config).simple_name
    except ConfigError:
        plugin = info.config.get("connector.class", "")
    traces = [status.trace, *(task.trace for task in status.tasks.values())]
    row = Row(
        name,
        info.type,
        plugin,
        status.overall,
        status.worker_id,
        next((trace for trace in traces if trace), ""),
    )
    if not here:
        return row
    progress, batches = view.progress(name), view.history.batches(name)
    return replace(
        row,
        rate=view.history.rate(name),
        lag=None if progress is None else sum(progress.lag().values()),
        committed_at=batches[0].at if batches else None,
        points=points(view.history.rates(name)),
    )


def _foreign(name: str, told: Any) -> Row:
    """A connector of the runtime, as it tells of it."""
    status, info = told.get("status", {}), told.get("info", {})
    connector, tasks = status.get("connector", {}), status.get("tasks", [])
    failed: dict[str, Any] = next((task for task in tasks if task.get("state") == "FAILED"), {})
    return Row(
        name,
        str(info.get("type", "source")),
        str(info.get("config", {}).get("connector.class", "")).rpartition(".")[2],
        str(failed.get("state") or connector.get("state", "UNASSIGNED")),
        str(connector.get("worker_id", "")),
        str(failed.get("trace") or connector.get("trace") or ""),
    )


def problems_of(view: WorkerView, found: Sequence[Row]) -> list[Problem]:
    """Find what is wrong, the worst first."""
    problems = [Problem("", text, f"Look at connector {name}.") for name, text in view.herder.problems().items()]
    for row in found:
        first = shorten(row.trace.partition("\n")[0], _SHOWN, placeholder=" …")
        if row.state == "FAILED":
            problems.append(Problem(row.name, first or "It has failed.", "Correct the cause, then restart it."))
        elif row.state == "RESTARTING":
            problems.append(Problem(row.name, first or "It is being restarted.", "It is started again by itself."))
    for name, state in view.breakers().items():
        if state != "closed":
            problems.append(
                Problem(name, f"Its store does not answer; the circuit breaker is {state}.", "It goes on by itself.")
            )
    for (name, slot), known in view.slots().items():
        if known is not None and known.lost:
            problems.append(Problem(name, f"Its slot {slot} is {slot_text(known)}.", "Look at the connector."))
    return problems


def letter_problems(found: Sequence[Row], letters: Mapping[str, int]) -> list[Problem]:
    """Tell of the open dead letters of each connector, and of those that are of none here."""
    here = {row.name: row for row in found}
    others = sum(count for name, count in letters.items() if name not in here)
    counts = [(name, letters.get(name, 0), "") for name in here]
    return [
        Problem(
            name,
            f"{counted(count, 'record')}{whose} {'was' if count == 1 else 'were'} not stored and "
            f"{'waits as a dead letter' if count == 1 else 'wait as dead letters'}.",
            "Look at the dead letters.",
            "/ui/deadletters",
        )
        for name, count, whose in [*counts, ("", others, " of connectors that are not here")]
        if count
    ]
