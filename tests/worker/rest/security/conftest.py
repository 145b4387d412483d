from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from frazil.environment.listeners import parse_listeners
from frazil.stack.ports import unused
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.app import serve_rest
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.worker.rest.security.serving import Serve
from tests.worker.watch.positions import KeptPositions


@pytest.fixture
def serve(herder: Herder) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(properties: dict[str, str], listeners: str = "http://127.0.0.1:{0}") -> list[str]:
            ports = unused(2)
            found = {key: value.format(*ports) for key, value in properties.items()}
            info = WorkerInfo("cluster-1", KeptPositions(), ActiveTopics(), Loggers())
            wanted = parse_listeners(listeners.format(*ports), "listeners")
            for server in serve_rest(herder, info, wanted, found, {}):
                stack.callback(server.stop)
            return [f"{listeners.split(':')[0]}://127.0.0.1:{port}" for port in ports]

        yield start
