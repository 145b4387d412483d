"""The REST API over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import httpx
import pytest

from frazil.worker.app import serve
from frazil.worker.herder import Herder
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.topics import ActiveTopics


@dataclass
class Groups:
    """Committed offsets by consumer group, in place of a broker."""

    offsets: dict[str, dict[tuple[str, int], int]] = field(default_factory=dict)
    topics: ActiveTopics = field(default_factory=ActiveTopics)

    def of(self, group: str) -> Mapping[tuple[str, int], int]:
        return self.offsets.get(group, {})


@pytest.fixture
def groups() -> Groups:
    return Groups()


@pytest.fixture
def client(herder: Herder, groups: Groups) -> Iterator[httpx.Client]:
    app = rest_app(herder, WorkerInfo("cluster-1", groups.of, groups.topics))
    server = serve(app, "127.0.0.1", 0, "KAFKA_CONNECT_PORT")
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        yield client
    server.stop()
