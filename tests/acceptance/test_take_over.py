"""A connector goes from the real Kafka Connect to frazil and back: nothing is lost or stored twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from bench.environment import with_home
from bench.peer import CONNECTOR_CLASS, peer_service

from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import stored_records
from frazil.connectors.iceberg.position.takeover import written_files
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.stack.ports import unused
from tests.harness import Pipe, Worker, event
from tests.waits import PATIENCE_S, eventually

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.timeout(900)]

INTERVAL_MS = "2000"
LONG_MS, SHORT_MS = 30_000, 2_000
"""How long a task without records waits before it looks whether it is to answer its coordinator."""


class KafkaConnect:
    """A worker of Kafka Connect with Apache's Iceberg sink, which finds its connectors again after a restart."""

    def __init__(self, settings: Settings, home: Path) -> None:
        (port,) = unused(1)
        self._own = Settings({**with_home(settings, home).env, "KAFKA_CONNECT_PORT": str(port)})
        self._group = f"take-over-{port}"
        self.client = ConnectClient(self._own.connect_url)

    def start(self, wait_ms: int) -> None:
        keys = {"offset.flush.interval.ms": str(wait_ms)}
        self._service = peer_service(self._own, group=self._group, keys=keys)
        self._service.start(lambda text: None)

    def stop(self) -> None:
        self._service.stop()

    def kill(self) -> None:
        """SIGKILL, so that its consumers stay members of their group until their sessions end."""
        pid = self._service.state().pid
        assert pid is not None
        process = psutil.Process(pid)
        process.kill()
        process.wait(PATIENCE_S)

    def runs(self, connector: str) -> bool:
        try:
            status = self.client.status(connector)
        except FrazilError:
            return False
        states = [part["state"] for part in (status["connector"], *status["tasks"])]
        assert "FAILED" not in states, status
        return len(states) > 1 and set(states) == {"RUNNING"}


class Lane:
    """A pipe of numbered records, sent a few at a time: a task answers its coordinator only between records."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe
        self.sent = 0

    def config(self) -> dict[str, str]:
        keys = {
            "connector.class": CONNECTOR_CLASS,
            "iceberg.control.topic": f"control-{self.pipe.name}",
            "iceberg.control.commit.interval-ms": INTERVAL_MS,
            "iceberg.control.commit.timeout-ms": "600000",
            "iceberg.tables.evolve-schema-enabled": "false",
        }
        return self.pipe.config() | keys

    def trickle(self, seconds: float, *partitions: int) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for partition in partitions or (0, 1, 2):
                self.pipe.send([event(self.sent + number) for number in range(10)], partition=partition)
                self.sent += 10
            time.sleep(0.2)

    def all_visible(self) -> None:
        """Every record is a row, once."""
        eventually(lambda: len(self.pipe.ids()) >= self.sent)
        assert self.pipe.ids() == list(range(self.sent))

    def pending_files(self) -> int:
        """Files that tasks have announced and the coordinator has not committed."""
        control, group = f"control-{self.pipe.name}", f"connect-{self.pipe.connector}"
        done = kafka_groups.group_offsets(self.pipe.settings.bootstrap_servers, f"{group}-coord", [(control, 0)])
        found = stored_records(self.pipe.settings.bootstrap_servers, done or {(control, 0): 0})
        events = (written_files(each.value() or b"", 0, each.offset() or 0) for each in found)
        return sum(each.files for each in events if each is not None)


@pytest.fixture
def connect(worker: Worker, tmp_path: Path) -> Iterator[KafkaConnect]:
    running = KafkaConnect(worker.settings, tmp_path)
    running.start(LONG_MS)
    yield running
    running.stop()
    running.client.close()


def trace(worker: Worker, connector: str) -> str:
    return worker.trace(connector)


def test_there_and_back_and_there_again(worker: Worker, pipe: Pipe, connect: KafkaConnect) -> None:
    lane, name = Lane(pipe), pipe.connector
    kafka_topics.ensure_topics(pipe.settings.bootstrap_servers, {f"control-{pipe.name}": (1, {})})
    connect.client.put_config(name, lane.config())
    eventually(lambda: connect.runs(name))
    lane.trickle(8)
    eventually(lane.pipe.ids)

    # One task is idle, so the files of the other are announced and not committed when all of it dies.
    for _ in range(5):
        lane.trickle(3, 0)
        eventually(lambda: lane.pending_files() > 0)
        connect.kill()
        if lane.pending_files() > 0:
            break
        connect.start(LONG_MS)  # the idle task was not idle for long enough
        eventually(lambda: connect.runs(name))
    assert lane.pending_files() > 0
    assert len(pipe.ids()) < lane.sent
    worker.client.put_config(name, lane.config())
    eventually(lambda: "still runs in Kafka Connect" in trace(worker, name))
    eventually(lambda: "not committed them yet: only its control topic" in trace(worker, name))
    assert worker.state(name) == "RESTARTING"

    connect.start(SHORT_MS)
    eventually(lambda: connect.runs(name))
    lane.trickle(4)
    lane.all_visible()
    lane.trickle(3)
    connect.client.pause(name)
    eventually(lambda: lane.pending_files() == 0)
    connect.client.stop(name)
    eventually(lambda: worker.state(name) == "RUNNING")
    lane.all_visible()

    lane.trickle(3)
    lane.all_visible()
    worker.client.stop(name)
    eventually(lambda: worker.state(name) == "STOPPED")
    lane.trickle(1)
    connect.client.resume(name)
    eventually(lambda: connect.runs(name))
    lane.trickle(4)
    lane.all_visible()

    connect.client.stop(name)
    worker.client.resume(name)
    eventually(lambda: worker.state(name) == "RUNNING")
    lane.trickle(3)
    lane.all_visible()

    connect.client.resume(name)
    eventually(lambda: connect.runs(name))

    def failed_meanwhile() -> bool:
        lane.trickle(1)  # it is told with the next commit
        return worker.state(name) == "FAILED"

    eventually(failed_meanwhile)
    assert "Kafka Connect's sink has committed to" in trace(worker, name)
