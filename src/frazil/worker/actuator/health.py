"""Health of the worker and of its connectors."""

from collections.abc import Callable, Mapping
from typing import Literal

from frazil.errors import FrazilError, NotFound
from frazil.pipeline.report import Totals
from frazil.worker.lifecycle.herder import Herder

Health = Literal["UP", "DEGRADED", "DOWN"]
Checks = Mapping[str, Callable[[], None]]
"""Checks by part that the worker needs; they raise FrazilError when the part does not answer."""

_DEGRADED_RATE, _DOWN_RATE = 0.05, 0.10
_ORDER: tuple[Health, ...] = ("UP", "DEGRADED", "DOWN")


def worst(*states: Health) -> Health:
    """The worst of the states; UP when there is none."""
    return max(states, key=_ORDER.index, default="UP")


def rate_health(failure_rate: float) -> Health:
    """DOWN above 10 % failures, DEGRADED above 5 %."""
    if failure_rate > _DOWN_RATE:
        return "DOWN"
    return "DEGRADED" if failure_rate > _DEGRADED_RATE else "UP"


def connector_states(herder: Herder) -> dict[str, str]:
    """State of each connector and its tasks, the worst that there is; one that is deleted meanwhile is left out."""
    states: dict[str, str] = {}
    for name in herder.running_here():
        try:
            states[name] = herder.status(name).overall
        except NotFound:
            continue
    return states


def connectors_health(states: Mapping[str, str]) -> Health:
    """DOWN when every connector failed, DEGRADED when one failed or is being restarted."""
    failed = [name for name, state in states.items() if state == "FAILED"]
    if failed and len(failed) == len(states):
        return "DOWN"
    return "DEGRADED" if failed or "RESTARTING" in states.values() else "UP"


def worker_health(herder: Herder, checks: Checks) -> dict[str, object]:
    """The body of /actuator/health: status, and components with details."""
    states = connector_states(herder)
    components: dict[str, dict[str, object]] = {}
    status = connectors_health(states)
    components["connectors"] = {"status": status, "details": states}
    if problems := herder.problems():
        status = worst(status, "DEGRADED")
        components["configurations"] = {"status": "DEGRADED", "details": problems}
    if not herder.started:
        status = "DOWN"
        components["worker"] = {"status": "DOWN", "details": {"error": "The worker is still starting up."}}
    for name, check in checks.items():
        try:
            check()
        except FrazilError as error:
            status = "DOWN"
            components[name] = {"status": "DOWN", "details": {"error": str(error)}}
        else:
            components[name] = {"status": "UP"}
    return {"status": status, "components": components, "groups": ["liveness", "readiness"]}


def readiness(herder: Herder) -> dict[str, str]:
    """The body of /actuator/health/readiness: whether the worker takes requests."""
    return {"status": "UP" if herder.started else "OUT_OF_SERVICE"}


def connector_health(herder: Herder, totals: Totals) -> dict[str, object]:
    """The body of /actuator/connector/health: processing, storage and performance."""
    processing = rate_health(totals.failure_rate)
    storage = connectors_health(connector_states(herder))
    return {
        "status": worst(processing, storage),
        "components": {
            "processing": {
                "status": processing,
                "records-processed": totals.read,
                "records-failed": totals.dead_letters,
                "failure-rate": totals.failure_rate,
            },
            "storage": {"status": storage, "s3-writes": totals.files, "commits": totals.batches},
            "performance": {
                "status": "UP",
                "avg-batch-time-ms": 1000 * totals.duration_s / totals.batches if totals.batches else 0.0,
            },
        },
    }
