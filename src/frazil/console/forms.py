"""Forms that make and change connectors; scripts send them to the REST API, which checks and forwards them."""

import json

from starlette.requests import Request

from frazil.connectors.registry import plugins
from frazil.console.links import connector_link
from frazil.console.render import Page
from frazil.worker.pages import WorkerView
from frazil.worker.rest.masking import masked_value
from frazil.worker.rest.paths import name_of

_EXAMPLE = {
    "connector.class": "IcebergSink",
    "topics": "orders",
    "iceberg.tables": "streaming.orders",
    "iceberg.tables.auto-create-enabled": "true",
    "iceberg.tables.evolve-schema-enabled": "true",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def new(view: WorkerView, request: Request) -> Page:
    """Make the form of a new connector."""
    names = sorted(plugin.class_name for plugin in plugins())
    return Page(
        "New connector",
        "form.html",
        {"name": "", "link": "/ui", "config": json.dumps(_EXAMPLE, indent=2), "classes": names},
        here="connectors",
    )


def edit(view: WorkerView, request: Request) -> Page:
    """Make the form of a connector's configuration, in which secrets are hidden; only what is changed is sent.

    Raises NotFound.
    """
    name = name_of(request)
    config = view.herder.info(name).config
    shown = {key: masked_value(key, text) for key, text in config.items()}
    return Page(
        f"Edit {name}",
        "form.html",
        {
            "name": name,
            "link": connector_link(name),
            "config": json.dumps(shown, indent=2, ensure_ascii=False),
            "classes": [],
        },
        here="connectors",
    )
