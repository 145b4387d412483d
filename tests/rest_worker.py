"""The worker's REST API without Spark, for tests of its clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from frazil.environment.settings import LOOPBACK
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from frazil.worker.watch.positions import Positions
from tests.waits import PATIENCE_S
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.watch.positions import KeptPositions


@contextmanager
def rest_worker(
    home: Path,
    positions: Positions | None = None,
    obstacles: Callable[[Mapping[str, str]], list[str]] = lambda config: [],
) -> Iterator[tuple[str, ScriptedFactory]]:
    """URL of a served REST API, and the factory that has made its runners. Positions are in memory unless given."""
    factory = ScriptedFactory()
    herder = Herder(FileConfigStore(home / "connectors.json"), factory, "127.0.0.1:0", obstacles=obstacles)
    herder.start()
    info = WorkerInfo("cluster", positions or KeptPositions(), ActiveTopics(), Loggers())
    server = serve(rest_app(herder, info), LOOPBACK, 0, "KAFKA_CONNECT_PORT")
    try:
        yield f"http://{LOOPBACK}:{server.port}", factory
    finally:
        server.stop()
        assert herder.close(timeout=PATIENCE_S)
