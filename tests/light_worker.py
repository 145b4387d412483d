"""A worker of a group without Spark: REST, storage topics and membership are real, its runners only keep a diary.

`python -m tests.light_worker worker.properties [HOME]`; the diary goes to stdout. With a home it has the runtime of
source connectors too. Tests kill and stop it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from frazil.engine.runner_api import RunnerFactory
from frazil.environment.settings import Settings
from frazil.environment.worker import WorkerConfig
from frazil.stack.ports import unused
from frazil.worker.cluster.group import worker_group
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.sources.runtime import SourceRuntime
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from frazil.worker.watch.positions import Positions
from tests.isolation import isolated_settings
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.watch.positions import KeptPositions


def properties(bootstrap: str, group: str, port: int, **more: str) -> dict[str, str]:
    """Configuration of a worker of a test's group; `more` with `__` for dots."""
    topics = {f"{kind}.storage.topic": f"{group}-{kind}" for kind in ("config", "offset", "status")}
    factors = {f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")}
    own = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "listeners": f"http://127.0.0.1:{port}",
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "1000",
    }
    return {**own, **topics, **factors, **{key.replace("__", "."): value for key, value in more.items()}}


def write(path: Path, values: Mapping[str, str]) -> Path:
    """The file of a worker's configuration."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return path


@contextmanager
def light_worker(
    worker: WorkerConfig, factory: RunnerFactory, positions: Positions | None = None, settings: Settings | None = None
) -> Iterator[Herder]:
    """A member of its group until the end of the block; with `settings` it also has the runtime of sources."""
    own, loggers = worker.advertised, Loggers()
    worker_id = f"{own.host}:{own.port}"
    group = worker_group(worker, worker.settings(Settings({})).bootstrap_servers, loggers)
    topics = ActiveTopics(board=group.statuses)
    herder = Herder(group.configs, factory, worker_id, RestartPolicy(0.05, 0.2, fenced=3), None, group.statuses)
    forwarder = Forwarder(group, worker_id)
    info = WorkerInfo("k", positions or KeptPositions(), topics, loggers, group.configs.set_logger)
    sources = None
    if settings is not None:
        silence_s = worker.parsed.number("session.timeout.ms") / 1000
        sources = SourceRuntime(worker.settings(settings), worker.properties, lambda: group.leads, silence_s)
    app = rest_app(herder, info, sources=sources, forwarder=forwarder)
    server = serve(app, own.bind, own.port, "KAFKA_CONNECT_PORT")
    try:
        herder.start(lambda: group.join(herder))
        if sources is not None:
            sources.start()
        yield herder
    finally:
        server.stop()
        forwarder.close()
        herder.close()
        group.close()
        if sources is not None:
            sources.close()


class _Diary(ScriptedFactory):
    """Tells the diary to whoever reads stdout."""

    def note(self, name: str, what: str) -> None:
        sys.stdout.write(f"{what} {name}\n")  # one call, so that lines of several threads do not mix
        sys.stdout.flush()


def main() -> None:
    """Run until SIGTERM."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    settings = isolated_settings(Path(sys.argv[2])) if len(sys.argv) > 2 else None
    if settings is not None:
        (port,) = unused(1)
        settings = Settings({**settings.env, "SOURCE_CONNECT_PORT": str(port)})
    with light_worker(WorkerConfig.load(Settings({}), Path(sys.argv[1])), _Diary(), settings=settings):
        print("ready", flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
