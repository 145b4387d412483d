"""The page of a connector's position: where it is, what a reset would do, and the reset."""

from starlette.requests import Request

from frazil.connectors.connector import Standing
from frazil.connectors.reread import read_again
from frazil.console.links import connector_link
from frazil.console.render import Page
from frazil.worker.pages import WorkerView
from frazil.worker.rest.paths import name_of


def page(view: WorkerView, request: Request) -> Page:
    """Make the page. Raises NotFound or ServiceUnavailable."""
    name = name_of(request)
    info, settings = view.herder.info(name), view.settings
    position = Standing.of(name, info.config, settings.bootstrap_servers, settings.providers()).position()
    return Page(
        f"Position of {name}",
        "offsets.html",
        {
            "name": name,
            "link": connector_link(name),
            "position": sorted(position.items()),
            "lines": list(read_again(info.config, name, position, settings)) if position else [],
            "stopped": view.herder.status(name).state == "STOPPED",
        },
        here="connectors",
    )
