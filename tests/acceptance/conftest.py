"""Fixtures of PostgreSQL and Debezium beside the worker, once per run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.environment.settings import Settings
from frazil.stack.connect import sources_service
from frazil.stack.plugins import install_plugin
from frazil.stack.postgres import postgres_service
from tests.harness import Worker


@pytest.fixture(scope="session")
def _debezium(worker: Worker) -> Iterator[Settings]:
    postgres = postgres_service(worker.settings)
    postgres.start(lambda text: None)
    install_plugin(worker.settings, "debezium-postgres", lambda text: None)
    yield worker.settings
    sources_service(worker.settings, {}).stop()
    postgres.stop()


@pytest.fixture
def captured(worker: Worker, _debezium: Settings) -> Iterator[Settings]:
    """The worker's settings, with PostgreSQL and Debezium beside it; the test's connectors are deleted afterwards."""
    before = worker.client.connectors()
    yield _debezium
    for name in set(worker.client.connectors()) - set(before):
        worker.client.delete(name)
