"""Health, metrics and the surroundings of a worker over HTTP, under `/actuator`."""

from collections.abc import Callable, Mapping

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from frazil.connectors.keys.versions import VERSION
from frazil.environment.listeners import Listener
from frazil.environment.settings import LOOPBACK
from frazil.errors import NotFound
from frazil.worker.actuator.health import Checks, connector_health, connector_states, readiness, worker_health
from frazil.worker.actuator.meters import connector_metrics, meter, meter_name
from frazil.worker.actuator.surroundings import Sources, environment, info, thread_dump
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
        "/actuator/info": lambda _: info(),
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
