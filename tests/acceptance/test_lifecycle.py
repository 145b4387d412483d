"""Pause, stop, restart, reconfiguration, and parts that fail: no record is lost or stored twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from frazil.clients import kafka
from frazil.stack.local import LocalStack
from tests.harness import Pipe, Worker, event, eventually, own_worker

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


def test_r12_a_missing_table_fails_the_connector(worker: Worker, pipe: Pipe) -> None:
    worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.tables": "acceptance.absent"})

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    trace = worker.client.status(pipe.connector)["connector"]["trace"]
    assert "table acceptance.absent does not exist" in trace


def test_a_missing_topic_fails_the_connector(worker: Worker, pipe: Pipe) -> None:
    worker.client.put_config(pipe.connector, pipe.config() | {"topics": "no-such-topic"})

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    assert "topic no-such-topic does not exist" in worker.client.status(pipe.connector)["connector"]["trace"]


def test_x07_a_topic_that_was_made_again_stops_the_connector(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(1)])
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: pipe.ids() == [1])
    httpx.put(f"{worker.settings.connect_url}/connectors/{pipe.connector}/stop")
    eventually(lambda: worker.state(pipe.connector) == "STOPPED")

    admin = kafka.admin(pipe.settings.bootstrap_servers)
    admin.delete_topics([pipe.name])[pipe.name].result(10)
    eventually(lambda: pipe.name not in kafka.topics(pipe.settings.bootstrap_servers))
    kafka.ensure_topics(pipe.settings.bootstrap_servers, {pipe.name: (3, {})})
    pipe.send([event(2)])
    httpx.put(f"{worker.settings.connect_url}/connectors/{pipe.connector}/resume")

    eventually(lambda: worker.state(pipe.connector) == "FAILED")
    assert "deleted and made again" in worker.client.status(pipe.connector)["connector"]["trace"]
    assert pipe.ids() == [1]


def test_x05_two_workers_on_one_connector_store_every_record_once(
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
        eventually(lambda: set(pipe.ids()) == set(sent), timeout=90)
        assert pipe.ids() == sent
        states = {each.state(pipe.connector) for each in (worker, other)}
        assert states in ({"RUNNING"}, {"RUNNING", "FAILED"})
        traces = [each.client.status(pipe.connector)["connector"].get("trace", "") for each in (worker, other)]
        assert all("Fenced" in trace for trace in traces if trace)


def test_x10_commits_of_others_in_between_are_no_harm(worker: Worker, pipe: Pipe) -> None:
    import pyarrow as pa

    worker.client.put_config(pipe.connector, pipe.config())
    schema = pipe.table().schema().as_arrow()
    foreign = 0
    with steady(pipe) as sent:
        eventually(lambda: len(pipe.ids()) > 50)
        for number in range(15):
            row = {"id": -1 - number, "time": 0}
            pipe.table().append(pa.Table.from_pylist([row], schema=schema))
            foreign += 1
            time.sleep(0.3)

    eventually(lambda: pipe.lag() == 0)
    assert pipe.ids() == sorted([-1 - n for n in range(foreign)] + sent)
    assert worker.state(pipe.connector) == "RUNNING"


@pytest.mark.timeout(600)
def test_a_store_that_is_down_for_a_while_loses_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.environment import isolated_settings

    stack = LocalStack(isolated_settings(tmp_path_factory.mktemp("own")))
    seaweedfs, broker = stack.services()
    stack.start(lambda text: None)
    try:
        with own_worker(stack.settings, tmp_path_factory.mktemp("own-worker")) as worker:
            pipe = Pipe(worker.settings, "store_down").create()
            worker.client.put_config(pipe.connector, pipe.config())
            with steady(pipe, pause=0.2) as sent:
                eventually(lambda: len(pipe.ids()) > 50)
                seaweedfs.stop()
                eventually(lambda: worker.state(pipe.connector) in ("FAILED", "RESTARTING"))
                time.sleep(3)
                seaweedfs.start(lambda text: None)
                eventually(lambda: worker.state(pipe.connector) == "RUNNING", timeout=90)
                time.sleep(2)
            eventually(lambda: pipe.lag() == 0, timeout=90)
            assert pipe.ids() == sent
    finally:
        stack.stop()
