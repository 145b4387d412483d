"""Health, metrics and the surroundings of a worker over HTTP, under `/actuator`."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from prometheus_client import Metric
from prometheus_client.samples import Sample
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.connectors.keys.versions import VERSION
from frazil.declare.secrets import hide_secrets
from frazil.environment.listeners import Listener
from frazil.environment.settings import LOOPBACK
from frazil.environment.variables import VARIABLES
from frazil.errors import ConfigError, NotFound
from frazil.worker.actuator.health import Checks, connector_health, connector_states, readiness, worker_health
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.error import ERROR_HANDLERS
from frazil.worker.rest.paths import PathSegments
from frazil.worker.rest.security.hosts import HostCheck, allowed_hosts
from frazil.worker.server import Server, serve
from frazil.worker.watch.loggers import ROOT, Loggers
from frazil.worker.watch.metrics import Metrics

_HEALTH_CODES = {"UP": 200, "DEGRADED": 200, "DOWN": 503, "OUT_OF_SERVICE": 503}
_LEVELS = ("OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")


def serve_actuator(
    herder: Herder,
    metrics: Metrics,
    checks: Checks,
    port: int,
    properties: Mapping[str, str],
    loggers: Loggers,
    sources: Sources,
) -> Server:
    """Serve the actuator on loopback, for the names that the worker's keys allow; raises PortTaken or StackError."""
    app = actuator_app(herder, metrics, checks, loggers, sources)
    hosts = allowed_hosts(Listener("http", LOOPBACK, port), properties)
    return serve(app if hosts is None else HostCheck(app, hosts), LOOPBACK, port, "ACTUATOR_PORT")


def actuator_app(herder: Herder, metrics: Metrics, checks: Checks, loggers: Loggers, sources: Sources) -> Starlette:
    """The actuator, which only tells; `checks` are the parts that the worker needs (broker, store, catalog), `sources`
    what its environment is."""

    def states() -> Mapping[str, object]:
        named = [{"name": name, "state": state} for name, state in connector_states(herder).items()]
        return {"name": "frazil", "version": VERSION, "worker-id": herder.worker_id, "connectors": named}

    def index(request: Request) -> Mapping[str, object]:
        return {"_links": {_link_name(path): _link(request, path) for path in routes}}

    routes: dict[str, Callable[[Request], Mapping[str, object] | Response]] = {
        "/actuator": index,
        "/actuator/health": lambda _: _health(worker_health(herder, checks)),
        "/actuator/health/liveness": lambda _: {"status": "UP"},
        "/actuator/health/readiness": lambda _: _health(readiness(herder)),
        "/actuator/info": lambda _: _info(),
        "/actuator/env": lambda _: environment(sources),
        "/actuator/loggers": lambda _: _loggers(loggers),
        "/actuator/loggers/{name}": lambda request: _logger(loggers, request.path_params["name"]),
        "/actuator/metrics": lambda _: {"names": sorted(set(map(meter_name, metrics.collect())))},
        "/actuator/metrics/{name}": lambda request: meter(
            metrics.collect(), request.path_params["name"], request.query_params.getlist("tag")
        ),
        "/actuator/prometheus": lambda request: _scraped(metrics, request),
        "/actuator/threaddump": lambda _: thread_dump(),
        "/actuator/connector/health": lambda _: _health(connector_health(herder, metrics.totals())),
        "/actuator/connector/metrics": lambda _: connector_metrics(metrics),
        "/actuator/connector/info": lambda _: states(),
    }
    return Starlette(
        routes=[Route(path, _endpoint(answer)) for path, answer in routes.items()],
        middleware=[Middleware(PathSegments)],
        exception_handlers=ERROR_HANDLERS,
    )


def scrape_route(metrics: Metrics) -> Route:
    """`/metrics` for the port of the REST API, where a scraper finds it under the login of that."""
    return Route("/metrics", _endpoint(lambda request: _scraped(metrics, request)))


def _endpoint(answer: Callable[[Request], Mapping[str, object] | Response]) -> Callable[[Request], object]:
    def answered(request: Request) -> Response:
        found = answer(request)
        return found if isinstance(found, Response) else JSONResponse(found)

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(answered, request)

    return endpoint


def _scraped(metrics: Metrics, request: Request) -> Response:
    text, media_type = metrics.exposition(request.headers.get("accept", ""))
    return Response(text, headers={"content-type": media_type})


def _health(body: Mapping[str, object]) -> Response:
    return JSONResponse(body, status_code=_HEALTH_CODES[str(body["status"])])


def _link_name(path: str) -> str:
    """The name of an endpoint among the links: `self` of the index, else its path with hyphens."""
    return path.removeprefix("/actuator").strip("/").replace("/", "-").replace("{", "").replace("}", "") or "self"


def _link(request: Request, path: str) -> Mapping[str, object]:
    return {"href": f"{request.url.scheme}://{request.url.netloc}{path}", "templated": "{" in path}


def _info() -> Mapping[str, object]:
    return {
        "build": {"name": "frazil", "version": VERSION},
        "python": {"version": platform.python_version()},
        "os": {"name": platform.system(), "version": platform.release(), "arch": platform.machine()},
        "process": {"pid": os.getpid(), "cpus": os.cpu_count()},
    }


def _loggers(loggers: Loggers) -> Mapping[str, object]:
    return {
        "levels": _LEVELS,
        "loggers": {_spring_name(name): {"effectiveLevel": one.level} for name, one in loggers.all().items()},
    }


def _logger(loggers: Loggers, name: str) -> Mapping[str, object]:
    found = loggers.get(name)
    if found is None:
        raise NotFound(f"Logger {name} not found.")
    return {"effectiveLevel": found.level}


def _spring_name(name: str) -> str:
    return "ROOT" if name == ROOT else name


def connector_metrics(metrics: Metrics) -> dict[str, object]:
    """The body of /actuator/connector/metrics; groups and fields that a Spark worker has data for."""
    totals = metrics.totals()
    batches = max(totals.batches, 1)
    return {
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "uptime-seconds": round(time.time() - metrics.started_at),
        "processing": {
            "records-processed": totals.read,
            "records-failed": totals.dead_letters,
            "failure-rate": totals.failure_rate,
        },
        "storage": {"s3-writes": totals.files, "bytes-written": totals.bytes_written, "commits": totals.batches},
        "performance": {
            "avg-processing-time-ms": 1000 * totals.duration_s / max(totals.read, 1),
            "avg-s3-write-time-ms": 1000 * totals.write_s / batches,
        },
        "system": {"dlq-messages": totals.dead_letters},
    }


def thread_dump() -> dict[str, Any]:
    """The body of /actuator/threaddump: each thread with what it is doing now, the innermost call first."""
    frames = sys._current_frames()  # noqa: SLF001 - documented, and the only way
    return {
        "threads": [
            {
                "threadName": thread.name,
                "threadId": thread.native_id,
                "daemon": thread.daemon,
                "stackTrace": [
                    {"methodName": call.name, "fileName": call.filename, "lineNumber": call.lineno}
                    for call in reversed(traceback.extract_stack(frames[thread.ident]))
                ],
            }
            for thread in threading.enumerate()
            if thread.ident in frames
        ]
    }


_UNITS = ("seconds", "bytes")
_STATISTICS: Mapping[str, Mapping[str, str]] = {
    "counter": {"_total": "COUNT"},
    "histogram": {"_count": "COUNT", "_sum": "TOTAL"},
    "gauge": {"": "VALUE"},
}
"""Statistics of the samples of a metric, by what a sample's name has behind the metric's."""


def meter_name(metric: Metric) -> str:
    """The name with dots and without the unit: `kafka.connector.s3.write.duration`."""
    return metric.name.removesuffix(f"_{_unit(metric)}").replace("_", ".")


def meter(metrics: Iterable[Metric], name: str, tags: Collection[str]) -> dict[str, Any]:
    """The body of /actuator/metrics/NAME; the name is that of `meter_name`, or the one that Prometheus sees.

    `tags` are conditions such as `connector:orders`. Raises NotFound for a metric, or series of it, that there is not,
    ConfigError for a condition that is none.
    """
    wanted = dict(_condition(tag) for tag in tags)
    metric = next((one for one in metrics if name in (meter_name(one), one.name)), None)
    series = [] if metric is None else [one for one in metric.samples if wanted.items() <= one.labels.items()]
    if metric is None or (wanted and not series):
        raise NotFound(f"There is no metric {' with '.join([name, *tags])}.")
    unit = _unit(metric)
    time = "_TIME" if unit == "seconds" else ""
    return {
        "name": meter_name(metric),
        "description": metric.documentation,
        **({"baseUnit": unit} if unit else {}),
        "measurements": [
            {"statistic": statistic.replace("TOTAL", f"TOTAL{time}"), "value": value}
            for statistic, value in _measured(metric, series).items()
        ],
        "availableTags": [
            {"tag": tag, "values": sorted({one.labels[tag] for one in series if tag in one.labels})}
            for tag in sorted({tag for one in series for tag in one.labels} - wanted.keys() - {"le"})
        ],
    }


def _measured(metric: Metric, series: Iterable[Sample]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in series:
        statistic = _STATISTICS.get(metric.type, _STATISTICS["gauge"]).get(one.name.removeprefix(metric.name))
        if statistic is not None:
            found[statistic] = found.get(statistic, 0.0) + one.value
    return found


def _unit(metric: Metric) -> str:
    return next((unit for unit in _UNITS if metric.name.endswith(f"_{unit}")), "")


def _condition(tag: str) -> tuple[str, str]:
    name, colon, value = tag.partition(":")
    if not colon:
        raise ConfigError(f"The tag {tag!r} is no condition; write it as name:value.")
    return name, value


Sources = Mapping[str, Mapping[str, str]]


def sources_of(env: Mapping[str, str], properties: Mapping[str, str]) -> Sources:
    """Variables of frazil that are set, for others are nobody's business, and the worker's keys as they were given."""
    return {
        "systemEnvironment": {name: env[name] for name in sorted(VARIABLES) if name in env},
        "workerProperties": dict(properties),
    }


def environment(sources: Sources) -> dict[str, Any]:
    """The body of /actuator/env."""
    every = {key: value for values in sources.values() for key, value in values.items()}

    def shown(values: Mapping[str, str]) -> dict[str, Any]:
        return {key: {"value": hide_secrets(value, {**every, key: value})} for key, value in values.items()}

    named = [{"name": name, "properties": shown(values)} for name, values in sources.items()]
    return {"activeProfiles": [], "propertySources": named}
