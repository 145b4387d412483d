"""The systems that are compared, and the one connector configuration that they all get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from bench.peer import CONNECTOR_CLASS, peer_service
from frazil.cli.verbs.stack import worker_service
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka.topics import ensure_topics
from frazil.environment.settings import Settings
from frazil.errors import NotFound, ServiceUnavailable, TerminalError
from frazil.minio.deployment.connectors import connectors, dead_letter_topic
from frazil.minio.records.kinds import CONNECTOR_NAMES, TableKind
from frazil.stack.service import Service

_DEPLOY_S = 60


@dataclass(frozen=True)
class System:
    """A worker with REST, and what its connectors differ in."""

    name: str
    title: str
    worker: Callable[[Settings], Service]
    overrides: tuple[tuple[str, str], ...]


FRAZIL = System("frazil", "frazil", worker_service, ())
PEER_1 = System(
    "peer-1", "Kafka Connect, 1 task", peer_service, (("connector.class", CONNECTOR_CLASS), ("tasks.max", "1"))
)
PEER_2 = System(
    "peer-2", "Kafka Connect, 2 tasks", peer_service, (("connector.class", CONNECTOR_CLASS), ("tasks.max", "2"))
)


def sink_config(
    settings: Settings, system: System, kind: TableKind, topic: str, table: str, run: str
) -> dict[str, str]:
    """The connector of a log kind, reading `topic` into `table`, with a control topic of its own."""
    return {
        **connectors(settings)[CONNECTOR_NAMES[kind]],
        "topics": topic,
        "iceberg.tables": table,
        "iceberg.control.topic": control_topic(run),
        "errors.deadletterqueue.topic.name": dead_letter_topic(topic),
        **dict(system.overrides),
    }


def control_topic(run: str) -> str:
    """The control topic of a run's connector."""
    return f"control-{run}"


class Connector:
    """A deployed connector. Methods raise ServiceUnavailable when the worker does not answer."""

    def __init__(self, client: ConnectClient, settings: Settings, name: str) -> None:
        self._client = client
        self._bootstrap = settings.bootstrap_servers
        self.name = name

    def deploy(self, config: dict[str, str]) -> None:
        """Make the control topic, where there is one, and the connector.

        Tried for 60 s, since a worker answers 409 while it rebalances.
        """
        if "iceberg.control.topic" in config:
            ensure_topics(self._bootstrap, {config["iceberg.control.topic"]: (1, {})})
        _patiently(lambda: self._client.put_config(self.name, config))

    def runs(self) -> bool:
        """Whether it and at least one task are RUNNING; a connector says so even when its tasks have died.

        Raises TerminalError when the connector or a task is FAILED.
        """
        try:
            status = self._client.status(self.name)
        except NotFound:  # a worker of Kafka Connect has no status for a moment after it has made a connector
            return False
        parts = [status["connector"], *status["tasks"]]
        for part in parts:
            if part["state"] == "FAILED":
                first_line = str(part.get("trace", "")).partition("\n")[0]
                what = f"task {part['id']}" if "id" in part else "the connector"
                raise TerminalError(f"{self.name}: {what} is FAILED: {first_line}")
        return len(parts) > 1 and all(part["state"] == "RUNNING" for part in parts)


@retry(
    retry=retry_if_exception_type(ServiceUnavailable),
    stop=stop_after_delay(_DEPLOY_S),
    wait=wait_fixed(0.5),
    reraise=True,
)
def _patiently(call: Callable[[], object]) -> None:
    call()
