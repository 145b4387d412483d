"""The REST API over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.worker.watch.positions import KeptPositions


@pytest.fixture
def positions() -> KeptPositions:
    return KeptPositions()


@pytest.fixture
def topics() -> ActiveTopics:
    return ActiveTopics()


@pytest.fixture
def client(herder: Herder, positions: KeptPositions, topics: ActiveTopics) -> Iterator[httpx.Client]:
    app = rest_app(herder, WorkerInfo("cluster-1", positions, topics, Loggers()))
    server = serve(app, "127.0.0.1", 0, "KAFKA_CONNECT_PORT")
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        yield client
    server.stop()
