"""Health and metrics over HTTP, under `/actuator`."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.connectors.keys.versions import VERSION
from frazil.environment.listeners import Listener
from frazil.environment.settings import LOOPBACK
from frazil.worker.actuator.health import Checks, connector_health, connector_states, worker_health
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.error import ERROR_HANDLERS
from frazil.worker.rest.paths import PathSegments
from frazil.worker.rest.security.hosts import HostCheck, allowed_hosts
from frazil.worker.server import Server, serve
from frazil.worker.watch.metrics import Metrics

_HEALTH_CODES = {"UP": 200, "DEGRADED": 200, "DOWN": 503}


def serve_actuator(
    herder: Herder, metrics: Metrics, checks: Checks, port: int, properties: Mapping[str, str]
) -> Server:
    """Serve the actuator on loopback, for the names that the worker's keys allow; raises PortTaken or StackError."""
    app = actuator_app(herder, metrics, checks)
    hosts = allowed_hosts(Listener("http", LOOPBACK, port), properties)
    return serve(app if hosts is None else HostCheck(app, hosts), LOOPBACK, port, "ACTUATOR_PORT")


def actuator_app(herder: Herder, metrics: Metrics, checks: Checks) -> Starlette:
    """The actuator; `checks` are the parts that the worker needs (broker, store, catalog)."""

    def health() -> Response:
        body = worker_health(herder, checks)
        return JSONResponse(body, status_code=_HEALTH_CODES[str(body["status"])])

    def connector_health_response() -> Response:
        body = connector_health(herder, metrics.totals())
        return JSONResponse(body, status_code=_HEALTH_CODES[str(body["status"])])

    def info() -> Response:
        states = connector_states(herder)
        connectors = [{"name": name, "state": state} for name, state in states.items()]
        return JSONResponse(
            {"name": "frazil", "version": VERSION, "worker-id": herder.worker_id, "connectors": connectors}
        )

    routes: dict[str, Callable[[], Response]] = {
        "/actuator": lambda: JSONResponse({"_links": {path: {"href": path} for path in routes}}),
        "/actuator/health": health,
        "/actuator/metrics": lambda: JSONResponse({"names": metrics.names()}),
        "/actuator/prometheus": lambda: _scraped(metrics),
        "/actuator/connector/health": connector_health_response,
        "/actuator/connector/metrics": lambda: JSONResponse(connector_metrics(metrics)),
        "/actuator/connector/info": info,
    }
    return Starlette(
        routes=[Route(path, _endpoint(answer)) for path, answer in routes.items()],
        middleware=[Middleware(PathSegments)],
        exception_handlers=ERROR_HANDLERS,
    )


def scrape_route(metrics: Metrics) -> Route:
    """`/metrics` for the port of the REST API, where a scraper finds it under the login of that."""
    return Route("/metrics", _endpoint(lambda: _scraped(metrics)))


def _scraped(metrics: Metrics) -> Response:
    return Response(metrics.exposition(), media_type=CONTENT_TYPE_LATEST)


def _endpoint(answer: Callable[[], Response]) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(answer)

    return endpoint


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
