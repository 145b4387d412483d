"""The seam for pages that a worker serves beside its REST API, under the same login and the same rules."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event

from prometheus_client import Metric
from starlette.routing import Route

from frazil.engine.maintenance import MaintenanceSchedule
from frazil.engine.runner_api import Progress
from frazil.environment.settings import Settings
from frazil.pipeline.executor import Executor
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.watch.at_scrape import Slots
from frazil.worker.watch.history import History


@dataclass(frozen=True)
class WorkerView:
    """View of a worker that pages have.

    `letters` gives the numbers of open dead letters by connector, None while they are not known. `executor` gives the
    executor of what is done once, which is called so; it raises StackError at first. `progress` gives the position of a
    connector that runs here, and the ends of what it reads; `breakers` are the states of circuit breakers; `slots` and
    `source_metrics` are what is known here of source connectors, the latter may raise ServiceUnavailable; `maintenance`
    looks after the tables of connectors that run here; `workers` are the URLs of the members of its group, and which of
    them leads, none where it is alone; `stopping` is set when the worker ends.
    """

    settings: Settings
    herder: Herder
    history: History
    letters: Callable[[], Mapping[str, int] | None]
    executor: Callable[[str], Executor]
    progress: Callable[[str], Progress | None]
    breakers: Callable[[], Mapping[str, str]]
    slots: Callable[[], Slots]
    source_metrics: Callable[[], Sequence[Metric]]
    maintenance: MaintenanceSchedule
    cluster_id: str
    workers: Callable[[], Mapping[str, bool]]
    stopping: Event


Pages = Callable[[WorkerView], Sequence[Route]]
"""Makes the routes of pages, none of which is one of the REST API."""


def no_pages(view: WorkerView) -> Sequence[Route]:
    """No page at all."""
    return ()
