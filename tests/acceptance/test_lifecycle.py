"""Pause, stop, restart, reconfiguration, and parts that fail: no record is lost or stored twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest
from confluent_kafka import TopicPartition
from pyiceberg.exceptions import CommitFailedException

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.iceberg.position import start_position
from frazil.connectors.iceberg.table.commit import Commit, TableBranch
from frazil.errors import NotFound
from frazil.stack.local import LocalStack
from frazil.stack.service import Service
from tests.connectors.iceberg.proxy import CatalogProxy
from tests.harness import Pipe, Worker, event, own_worker
from tests.isolation import isolated_settings
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.spark


@contextmanager
def steady(pipe: Pipe, pause: float = 0.05) -> Iterator[list[int]]:
    """Records with ascending ids flow while the block runs; the list holds what was sent."""
    sent: list[int] = []
    stop = threading.Event()

    def produce() -> None:
        while not stop.is_set():
            start = len(sent)
            pipe.send([event(n) for n in range(start, start + 50)])
            sent.extend(range(start, start + 50))
            time.sleep(pause)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield sent
    finally:
        stop.set()
        thread.join()


def test_pause_resume_stop_restart_and_reconfigure_under_load(worker: Worker, pipe: Pipe) -> None:
    url = f"{worker.settings.connect_url}/connectors/{pipe.connector}"
    worker.client.put_config(pipe.connector, pipe.config())
    with steady(pipe) as sent:
        eventually(lambda: len(pipe.ids()) > 100)
        for verb, state in (("pause", "PAUSED"), ("resume", "RUNNING"), ("stop", "STOPPED"), ("resume", "RUNNING")):
            assert httpx.put(f"{url}/{verb}").is_success
            eventually(lambda state=state: worker.state(pipe.connector) == state)  # type: ignore[misc]
            if state != "RUNNING":
                still = pipe.snapshots()
                time.sleep(2)
                assert pipe.snapshots() == still
        assert httpx.post(f"{url}/restart?includeTasks=true").status_code == 202
        eventually(lambda: worker.state(pipe.connector) == "RUNNING")
        worker.client.put_config(pipe.connector, pipe.config() | {"frazil.batch.max.records": "500"})
        eventually(lambda: worker.state(pipe.connector) == "RUNNING")
        time.sleep(2)

    eventually(lambda: pipe.lag() == 0)
    assert pipe.ids() == sent


def test_a_missing_table_fails_the_connector(worker: Worker, pipe: Pipe) -> None:
    worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.tables": "acceptance.absent"})

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    trace = worker.trace(pipe.connector)
    assert "table acceptance.absent does not exist" in trace


def test_a_missing_topic_fails_the_connector(worker: Worker, pipe: Pipe) -> None:
    tolerant = {"errors.tolerance": "all"}
    worker.client.put_config(pipe.connector, pipe.config() | tolerant | {"topics": "no-such-topic"})

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    assert "topic no-such-topic does not exist" in worker.trace(pipe.connector)
    assert "no-such-topic-dlq" not in kafka_topics.topics(pipe.settings.bootstrap_servers)


def test_a_topic_that_was_made_again_stops_the_connector(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(1)])
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: pipe.ids() == [1])
    httpx.put(f"{worker.settings.connect_url}/connectors/{pipe.connector}/stop")
    eventually(lambda: worker.state(pipe.connector) == "STOPPED")

    admin = kafka_client.admin(pipe.settings.bootstrap_servers)
    admin.delete_topics([pipe.name])[pipe.name].result(PATIENCE_S)
    eventually(lambda: pipe.name not in kafka_topics.topics(pipe.settings.bootstrap_servers))
    kafka_topics.ensure_topics(pipe.settings.bootstrap_servers, {pipe.name: (3, {})})
    pipe.send([event(2)])
    httpx.put(f"{worker.settings.connect_url}/connectors/{pipe.connector}/resume")

    eventually(lambda: worker.state(pipe.connector) == "FAILED")
    assert "deleted and made again" in worker.trace(pipe.connector)
    assert pipe.ids() == [1]


def test_a_topic_that_is_made_again_at_once_while_it_is_read(worker: Worker, pipe: Pipe) -> None:
    """It may have more records than were read by the time somebody looks: no offset tells that it is another one."""
    pipe.send([event(n) for n in range(3)], partition=0)
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: pipe.ids() == [0, 1, 2])
    bootstrap = pipe.settings.bootstrap_servers
    before = kafka_topics.topic_ids(bootstrap, [pipe.name])

    admin = kafka_client.admin(bootstrap)
    admin.delete_topics([pipe.name])[pipe.name].result(PATIENCE_S)
    eventually(lambda: made_again(bootstrap, pipe.name, before))
    pipe.send([event(n) for n in range(1000, 1100)], partition=0)

    eventually(lambda: worker.state(pipe.connector) == "FAILED")
    assert "PositionLost" in worker.trace(pipe.connector)
    assert pipe.ids() == [0, 1, 2]


def made_again(bootstrap: str, topic: str, before: Mapping[str, str]) -> bool:
    kafka_topics.ensure_topics(bootstrap, {topic: (3, {})})
    try:
        return kafka_topics.topic_ids(bootstrap, [topic]) != before
    except NotFound:
        return False


@pytest.mark.faults
@pytest.mark.outage
def test_two_workers_on_one_connector_store_every_record_once(
    worker: Worker, pipe: Pipe, stack: LocalStack, tmp_path: object
) -> None:
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    with own_worker(stack.settings, tmp_path) as other:
        for each in (worker, other):
            each.client.put_config(pipe.connector, pipe.config())
        with steady(pipe, pause=0.02) as sent:
            eventually(lambda: len(pipe.ids()) > 200)
            time.sleep(15)
        eventually(lambda: set(pipe.ids()) == set(sent))
        assert pipe.ids() == sent
        states = {each.state(pipe.connector) for each in (worker, other)}
        assert states in ({"RUNNING"}, {"RUNNING", "FAILED"})
        traces = [each.trace(pipe.connector) for each in (worker, other)]
        assert all("Fenced" in trace for trace in traces if trace)


def commit_in_between(pipe: Pipe, rows: Any) -> None:
    """Append rows as another writer, which begins anew as often as the connector is faster."""

    def appended() -> bool:
        try:
            pipe.table().append(rows)
        except CommitFailedException:
            return False
        return True

    eventually(appended)


def test_commits_of_others_in_between_are_no_harm(worker: Worker, pipe: Pipe) -> None:
    import pyarrow as pa

    # The other writer needs a second from its look at the table to its commit on a busy machine.
    worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.control.commit.interval-ms": "4000"})
    schema = pipe.table().schema().as_arrow()
    foreign = 0
    with steady(pipe) as sent:
        eventually(lambda: len(pipe.ids()) > 50)
        for number in range(8):
            row = {"id": -1 - number, "time": 0}
            commit_in_between(pipe, pa.Table.from_pylist([row], schema=schema))
            foreign += 1
            time.sleep(0.3)

    eventually(lambda: pipe.lag() == 0)
    assert pipe.ids() == sorted([-1 - n for n in range(foreign)] + sent)
    assert worker.state(pipe.connector) == "RUNNING"


def test_a_topic_that_is_deleted_while_it_is_read_stops_the_connector(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(1)])
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: pipe.ids() == [1])

    admin = kafka_client.admin(pipe.settings.bootstrap_servers)
    admin.delete_topics([pipe.name])[pipe.name].result(PATIENCE_S)

    eventually(lambda: worker.state(pipe.connector) == "FAILED")
    trace = worker.trace(pipe.connector)
    assert trace.startswith(f"frazil.errors.PositionLost: topic {pipe.name} was deleted at ")
    assert f"is in table {pipe.table_name}" in trace
    assert pipe.ids() == [1]


def test_records_that_retention_takes_before_they_are_read_stop_the_connector(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(1)], partition=0)
    worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.control.commit.interval-ms": "3000"})
    eventually(lambda: pipe.ids() == [1])

    pipe.send([event(n) for n in range(2, 10)], partition=0)
    admin = kafka_client.admin(pipe.settings.bootstrap_servers)
    for future in admin.delete_records([TopicPartition(pipe.name, 0, 8)]).values():
        future.result(PATIENCE_S)

    eventually(lambda: worker.state(pipe.connector) == "FAILED")
    trace = worker.trace(pipe.connector)
    assert trace.startswith("frazil.errors.PositionLost: records that were still to be read are gone from Kafka: ")
    assert f"topic {pipe.name}, partition 0, offset 1: " in trace.splitlines()[0]
    assert pipe.ids() == [1]


class Rival(CatalogProxy):
    """Before the first commit of a worker reaches the catalog, another worker commits for the same connector."""

    def __init__(self, pipe: Pipe) -> None:
        super().__init__(pipe.settings.catalog_uri)
        self._pipe = pipe
        self._waiting = True

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        if self._waiting and handler.command == "POST" and b'"updates"' in body:
            self._waiting = False
            target = TableBranch(self._pipe.catalog(), self._pipe.table_name, "main")
            table = target.load()
            floor = target.floor(table, self._pipe.connector)
            identity = start_position.identity(self._pipe.settings.bootstrap_servers, [self._pipe.name])
            target.commit(table, floor, Commit(self._pipe.connector, [], {}, {(self._pipe.name, 0): 1}, identity, None))
        super().answer(handler, body)


class Stuck(CatalogProxy):
    """Commits wait until they are let go."""

    def __init__(self, pipe: Pipe) -> None:
        super().__init__(pipe.settings.catalog_uri)
        self.reached, self.free = threading.Event(), threading.Event()

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        if handler.command == "POST" and b'"updates"' in body:
            self.reached.set()
            self.free.wait(PATIENCE_S)
        super().answer(handler, body)


@pytest.mark.outage
def test_a_connector_stops_though_its_batch_hangs(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n) for n in range(10)])
    url = f"{worker.settings.connect_url}/connectors/{pipe.connector}"
    stuck = Stuck(pipe)
    with stuck.running():
        try:
            worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.catalog.uri": stuck.uri})
            assert stuck.reached.wait(PATIENCE_S)
            assert httpx.put(f"{url}/stop").status_code == 204
            eventually(lambda: worker.state(pipe.connector) == "STOPPED")
            assert not stuck.free.is_set()
            # The next runner waits for the end of the batch that was given up, and goes on from its commit.
            pipe.send([event(n) for n in range(10, 20)])
            assert httpx.put(f"{url}/resume").status_code == 202
            eventually(lambda: worker.state(pipe.connector) == "RESTARTING")
            assert "has not ended after" in worker.trace(pipe.connector)
        finally:
            stuck.free.set()
        eventually(lambda: pipe.lag() == 0)
        assert pipe.ids() == list(range(20))
        worker.client.delete(pipe.connector)


def test_a_connector_that_is_taken_over_during_its_commit_stays_failed(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n) for n in range(10)], partition=0)
    with Rival(pipe).running() as rival:
        worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.catalog.uri": rival.uri})
        eventually(lambda: worker.state(pipe.connector) == "FAILED")

        trace = worker.trace(pipe.connector)
        assert trace.startswith("frazil.errors.Fenced: another worker has committed")
        time.sleep(2)  # the first wait of a restart is one second
        assert worker.state(pipe.connector) == "FAILED"
        assert pipe.ids() == []

        worker.client.restart(pipe.connector)
        eventually(lambda: pipe.ids() == list(range(1, 10)))  # the rival claims to have the first


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Service, Worker]]:
    """Store, broker and worker of a stack that may be broken."""
    stack = LocalStack(isolated_settings(tmp_path_factory.mktemp("own")))
    seaweedfs, broker = stack.services()
    stack.start(lambda text: None)
    try:
        with own_worker(stack.settings, tmp_path_factory.mktemp("own-worker")) as worker:
            yield seaweedfs, broker, worker
    finally:
        stack.stop()


@pytest.mark.outage
def test_a_store_that_is_down_for_a_while_loses_nothing(parts: tuple[Service, Service, Worker]) -> None:
    seaweedfs, _, worker = parts
    pipe = Pipe(worker.settings, "store_down").create()
    worker.client.put_config(pipe.connector, pipe.config())
    with steady(pipe, pause=0.2) as sent:
        eventually(lambda: len(pipe.ids()) > 50)
        seaweedfs.stop()
        eventually(lambda: worker.state(pipe.connector) in ("FAILED", "RESTARTING"))
        time.sleep(3)
        seaweedfs.start(lambda text: None)
        eventually(lambda: worker.state(pipe.connector) == "RUNNING")
        time.sleep(2)
    eventually(lambda: pipe.lag() == 0)
    assert pipe.ids() == sent


@pytest.mark.outage
def test_a_broker_that_is_down_for_a_while_shows_and_loses_nothing(parts: tuple[Service, Service, Worker]) -> None:
    _, broker, worker = parts
    pipe = Pipe(worker.settings, "broker_down").create()
    worker.client.put_config(pipe.connector, pipe.config())
    pipe.send([event(n) for n in range(100)])
    eventually(lambda: pipe.ids() == list(range(100)))
    pipe.send([event(n) for n in range(100, 200)])
    broker.stop()

    eventually(lambda: worker.state(pipe.connector) == "RESTARTING")

    trace = worker.trace(pipe.connector)
    assert trace.startswith("frazil.errors.ServiceUnavailable: Kafka ")
    broker.start(lambda text: None)
    eventually(lambda: worker.state(pipe.connector) == "RUNNING")
    pipe.send([event(n) for n in range(200, 300)])
    eventually(lambda: len(pipe.ids()) == 300)
    assert pipe.ids() == list(range(300))
