"""Workers of one group on a real broker: who runs what, who answers what, and what happens when one is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Consumer, Producer

from frazil.environment.settings import Settings
from frazil.environment.worker import WorkerConfig
from frazil.errors import ConfigError
from frazil.stack.kafka import kafka_service
from frazil.stack.local import LocalStack
from frazil.stack.ports import unused
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.storage.records import WorkerRecord, worker_record
from tests.isolation import isolated_settings
from tests.light_worker import light_worker, properties, write
from tests.waits import PATIENCE_S, eventually
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import assert_error, sink

pytestmark = pytest.mark.stack

NAMES = [f"c{number}" for number in range(8)]


@dataclass
class Member:
    """A worker of this process, or of one of its own."""

    client: httpx.Client
    worker_id: str
    herder: Herder | None = None
    factory: ScriptedFactory | None = None
    process: subprocess.Popen[str] | None = None

    def states(self) -> dict[str, tuple[str, str]]:
        """State and worker by connector, as this worker tells them."""
        answer = self.client.get("/connectors?expand=status").json()
        return {
            name: (found["status"]["connector"]["state"], found["status"]["connector"]["worker_id"])
            for name, found in answer.items()
        }

    def runs(self) -> set[str]:
        assert self.herder is not None
        return set(self.herder.running_here())


class Cluster:
    """Makes the members of one group."""

    def __init__(self, bootstrap: str, folder: Path, **more: str) -> None:
        self.bootstrap = bootstrap
        self.name = f"group-{uuid.uuid4().hex[:8]}"
        self._folder = folder
        self._more = more

    def _configure(self) -> tuple[Path, int]:
        (port,) = unused(1)
        return write(
            self._folder / f"{port}.properties", properties(self.bootstrap, self.name, port, **self._more)
        ), port

    @contextmanager
    def member(self) -> Iterator[Member]:
        file, port = self._configure()
        factory = ScriptedFactory()
        with light_worker(WorkerConfig.load(Settings({}), file), factory) as herder, _client(port) as client:
            yield Member(client, f"127.0.0.1:{port}", herder, factory)

    @contextmanager
    def process(self) -> Iterator[Member]:
        file, port = self._configure()
        command = [sys.executable, "-m", "tests.light_worker", str(file)]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
            _client(port) as client,
        ):
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            try:
                yield Member(client, f"127.0.0.1:{port}", process=process)
            finally:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                process.communicate(timeout=PATIENCE_S)


def _client(port: int) -> httpx.Client:
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE_S)


@pytest.fixture
def cluster(stack: LocalStack, tmp_path: Path) -> Cluster:
    return Cluster(stack.settings.bootstrap_servers, tmp_path)


def create(member: Member, name: str, **more: str) -> None:
    answer = member.client.put(f"/connectors/{name}/config", json=sink(name, **more))
    assert answer.status_code == 201, answer.text


def states_of(member: Member) -> set[str]:
    return {state for state, _ in member.states().values()}


def workers_of(member: Member) -> set[str]:
    return {worker for _, worker in member.states().values()}


def test_workers_share_connectors_and_answer_alike(cluster: Cluster) -> None:
    with cluster.member() as one:
        for name in NAMES:
            create(one, name)
        eventually(lambda: set(one.states().values()) == {("RUNNING", one.worker_id)})
        with cluster.member() as two:
            assert two.client.get("/connectors").json() == NAMES
            eventually(lambda: one.runs() and two.runs() and one.runs() | two.runs() == set(NAMES))
            assert not one.runs() & two.runs()
            eventually(lambda: states_of(two) == {"RUNNING"} and one.states() == two.states())
            assert workers_of(two) == {one.worker_id, two.worker_id}
            for number, name in enumerate(NAMES):
                _change((one, two)[number % 2], name)
            eventually(lambda: states_of(one) == states_of(two) == {"RUNNING"})
            for path in ("", "/config", "/tasks", "/tasks/1/status", "/status"):
                answers = [member.client.get(f"/connectors/{NAMES[0]}{path}").json() for member in (one, two)]
                assert answers[0] == answers[1]
            _stop_and_resume(one, two)
            _stop_and_resume(two, one)
            assert two.client.delete(f"/connectors/{NAMES[0]}").status_code == 204
            gone = two.client.get(f"/connectors/{NAMES[0]}/status")
            assert_error(gone, 404, f"No status found for connector {NAMES[0]}")
            eventually(lambda: NAMES[0] not in one.states() and one.client.get("/connectors").json() == NAMES[1:])
        eventually(lambda: set(one.states().values()) == {("RUNNING", one.worker_id)})
        assert two.factory is not None
        assert all(two.factory.life(name).count("start") == two.factory.life(name).count("stop") for name in NAMES)
    with cluster.member() as late:
        assert late.client.get("/connectors").json() == NAMES[1:]
        eventually(lambda: set(late.states().values()) == {("RUNNING", late.worker_id)})


def test_an_address_in_the_status_topic_that_is_of_no_member_gets_no_request(cluster: Cluster) -> None:
    """Nor does it keep the workers from each other."""
    with cluster.member() as one, cluster.member() as two, socket.create_server(("127.0.0.1", 0)) as stranger:
        url = f"http://127.0.0.1:{stranger.getsockname()[1]}"
        create(one, NAMES[0])
        key, value = worker_record(WorkerRecord("stranger:1", url, frozenset(range(25))))
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        for _ in range(3):
            producer.produce(f"{cluster.name}-status", value, key, partition=0)
            assert producer.flush(10) == 0
            for member in (one, two):
                answer = member.client.put(f"/connectors/{NAMES[0]}/pause", headers={"authorization": "Basic b3BzOng="})
                assert answer.status_code in (202, 409), answer.text
        eventually(
            lambda: (
                [member.client.put(f"/connectors/{NAMES[0]}/resume").status_code for member in (one, two)] == [202, 202]
            )
        )
        stranger.settimeout(0.1)
        with pytest.raises(TimeoutError):
            stranger.accept()


def _change(asked: Member, name: str) -> None:
    """Whoever has to do it: the worker that is asked knows of it when it answers."""
    changed = asked.client.put(f"/connectors/{name}/config", json=sink(name, tasks__max="2"))
    assert changed.status_code == 200, changed.text
    assert asked.client.get(f"/connectors/{name}").json()["config"]["tasks.max"] == "2"
    restarted = asked.client.post(f"/connectors/{name}/restart?includeTasks=true")
    assert restarted.json()["connector"]["state"] == "RESTARTING"


def _stop_and_resume(asked: Member, other: Member) -> None:
    path = f"/connectors/{NAMES[0]}"
    assert asked.client.put(f"{path}/stop").status_code == 204
    assert asked.client.get(path).json()["tasks"] == []
    eventually(lambda: asked.states()[NAMES[0]][0] == other.states()[NAMES[0]][0] == "STOPPED")
    forgotten = asked.client.delete(f"{path}/offsets")
    assert forgotten.status_code == 200, forgotten.text
    assert asked.client.put(f"{path}/resume").status_code == 202
    eventually(lambda: asked.states()[NAMES[0]][0] == other.states()[NAMES[0]][0] == "RUNNING")


def test_a_worker_that_leaves_tells_so_and_its_connectors_do_not_wait_for_the_end_of_its_session(
    stack: LocalStack, tmp_path: Path
) -> None:
    cluster = Cluster(stack.settings.bootstrap_servers, tmp_path, session__timeout__ms="1800000")
    with cluster.member() as one:
        create(one, "left")
        create(one, "kept")
        with cluster.member() as two:
            eventually(lambda: one.runs() and two.runs() and one.runs() | two.runs() == {"left", "kept"})
        eventually(lambda: set(one.states().values()) == {("RUNNING", one.worker_id)})


def test_connectors_of_a_worker_that_is_killed_start_elsewhere(cluster: Cluster) -> None:
    with cluster.member() as one, cluster.process() as other:
        path = "/admin/loggers/frazil.worker.anywhere"
        assert one.client.put(f"{path}?scope=cluster", json={"level": "TRACE"}).status_code == 204
        eventually(lambda: [m.client.get(path).json().get("level") for m in (one, other)] == ["TRACE", "TRACE"])
        for name in NAMES:
            create(other, name)
        eventually(lambda: workers_of(one) == {one.worker_id, other.worker_id})
        assert other.process is not None
        other.process.kill()
        eventually(lambda: set(one.states().values()) == {("RUNNING", one.worker_id)})
        create(one, "after")


@pytest.mark.faults
def test_a_worker_that_slept_gives_up_what_others_have_taken(cluster: Cluster) -> None:
    with ExitStack() as stack:
        one, other = stack.enter_context(cluster.member()), stack.enter_context(cluster.process())
        for name in NAMES:
            create(one, name)
        eventually(lambda: workers_of(one) == {one.worker_id, other.worker_id})
        taken = {name for name, (_, worker) in one.states().items() if worker == other.worker_id}
        assert other.process is not None
        other.process.send_signal(signal.SIGSTOP)
        eventually(lambda: set(one.states().values()) == {("RUNNING", one.worker_id)})
        os.kill(other.process.pid, signal.SIGCONT)
        eventually(lambda: workers_of(one) == {one.worker_id, other.worker_id})
        eventually(lambda: one.states() == other.states())
        other.process.terminate()
        diary = (other.process.communicate(timeout=PATIENCE_S)[0] or "").splitlines()
        # Each connector that was taken over has stopped before this worker has run it again.
        for name in taken:
            assert [line.split()[0] for line in diary if line.endswith(f" {name}")] == ["start", "stop"] * (
                sum(line == f"start {name}" for line in diary)
            )


@pytest.mark.faults
def test_workers_outlive_their_broker(tmp_path: Path) -> None:
    """Requests that ask the coordinator go on all the time, also while it is elected anew."""
    settings = isolated_settings(tmp_path / "home")
    broker = kafka_service(settings)
    broker.start(lambda text: None)
    cluster = Cluster(settings.bootstrap_servers, tmp_path)
    try:
        with cluster.process() as one, cluster.process() as other:
            for name in NAMES:
                create(one, name)
            eventually(lambda: workers_of(one) == {one.worker_id, other.worker_id})
            with ThreadPoolExecutor(2) as pool:
                stop = threading.Event()
                asked = [pool.submit(_ask_until, member, stop) for member in (one, other)]
                for _ in range(2):
                    broker.stop()
                    time.sleep(8)
                    broker.start(lambda text: None)
                    eventually(lambda: states_of(one) == {"RUNNING"} and one.states() == other.states())
                stop.set()
                assert all(future.result(PATIENCE_S) for future in asked)
            for member in (one, other):
                assert member.process is not None
                assert member.process.poll() is None
            eventually(lambda: _put(other, "after") == 201)
    finally:
        broker.stop()


def _put(member: Member, name: str) -> int:
    """The status of the answer; 409 for as long as the worker has no session with the broker that came back."""
    answer = member.client.put(f"/connectors/{name}/config", json=sink(name))
    assert answer.status_code in (201, 409), answer.text
    return answer.status_code


def _ask_until(member: Member, stop: threading.Event) -> int:
    """Restarts of connectors of either worker, one after the other, each over a connection of its own."""
    asked = 0
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=member.client.base_url, trust_env=False, timeout=PATIENCE_S, limits=limits) as client:
        while not stop.is_set():
            answer = client.post(f"/connectors/{NAMES[asked % len(NAMES)]}/restart?includeTasks=true")
            assert answer.status_code in (202, 409), answer.text
            asked += 1
            time.sleep(0.05)
    return asked


def test_a_group_of_other_members_is_not_joined(cluster: Cluster, tmp_path: Path) -> None:
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": cluster.name, "partition.assignment.strategy": "range"}
    )
    with cluster.member():
        pass  # makes the topics
    consumer.subscribe([f"{cluster.name}-offset"])
    try:
        eventually(lambda: consumer.poll(0.1) is None and consumer.assignment())
        with pytest.raises(ConfigError, match="has members that are no frazil workers"), cluster.member():
            pass
    finally:
        consumer.close()
