from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.stack.local import LocalStack
from frazil.worker.lifecycle.status import ConnectorStatus, OwnStatus
from frazil.worker.storage.records import WorkerRecord
from frazil.worker.storage.statuses import StatusTopic
from frazil.worker.storage.topics import StorageTopic, ensure_storage_topic
from tests.waits import eventually

pytestmark = pytest.mark.stack

Open = Callable[[], StatusTopic]


@pytest.fixture
def topic() -> str:
    return f"statuses-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def open_topic(stack: LocalStack, topic: str) -> Iterator[Open]:
    bootstrap = stack.settings.bootstrap_servers
    ensure_storage_topic(bootstrap, StorageTopic("status.storage.topic", topic, 3, 1))
    client = kafka_client.client_config(bootstrap)
    with ExitStack() as opened:

        def make() -> StatusTopic:
            made = StatusTopic(client, client, topic, topic, "0.1")
            opened.callback(made.close)
            made.start()
            return made

        yield make


def status(state: str, worker: str, tasks: int, trace: str | None = None) -> ConnectorStatus:
    own = OwnStatus(state, worker, trace)  # type: ignore[arg-type]
    of_tasks = dict.fromkeys(range(tasks), own)
    return ConnectorStatus(own.state, worker, trace, name="a", tasks=of_tasks, type="unknown")


def test_states_are_told_to_all_and_outlive_the_worker(open_topic: Open) -> None:
    one, other = open_topic(), open_topic()
    one.publish(status("RUNNING", "h:1", 3))
    eventually(lambda: other.of("a") == status("RUNNING", "h:1", 3))
    failed = status("FAILED", "h:1", 1, "why")
    one.publish(failed)
    eventually(lambda: other.of("a") == failed)
    assert open_topic().of("a") == failed
    other.forget("a")
    eventually(lambda: one.of("a") is None and one.names() == set())
    assert open_topic().of("a") is None


def test_tasks_that_were_published_and_not_read_yet_are_removed(open_topic: Open) -> None:
    one, other = open_topic(), open_topic()
    one.publish(status("RUNNING", "h:1", 3))
    one.publish(status("RUNNING", "h:1", 1))
    eventually(lambda: other.of("a") == status("RUNNING", "h:1", 1))
    late = open_topic()
    late.publish(status("RUNNING", "h:2", 2))
    late.forget("a")
    eventually(lambda: other.of("a") is None and other.names() == set())


def test_a_state_is_sent_once_and_again_where_somebody_has_told_another(
    stack: LocalStack, topic: str, open_topic: Open
) -> None:
    one, late = open_topic(), open_topic()
    for _ in range(3):
        one.publish(status("RUNNING", "h:1", 1))
        one.flush()
    assert sum(kafka_offsets.end_offsets(stack.settings.bootstrap_servers, [topic]).values()) == 2
    late.publish(status("UNASSIGNED", "h:2", 1))
    eventually(lambda: one.of("a") == status("UNASSIGNED", "h:2", 1))
    one.publish(status("RUNNING", "h:1", 1))
    eventually(lambda: late.of("a") == status("RUNNING", "h:1", 1))


def test_topics_that_were_read(open_topic: Open) -> None:
    one, other = open_topic(), open_topic()
    for topic in ("t2", "t1", "t2"):
        one.add_topic("a", topic)
    eventually(lambda: other.topics_of("a") == ["t1", "t2"])
    other.reset_topics("a")
    eventually(lambda: one.topics_of("a") == [])
    assert one.names() == set()


def test_the_last_worker_that_says_so_has_a_partition(open_topic: Open) -> None:
    one, other = open_topic(), open_topic()
    one.announce(WorkerRecord("a:1", "http://a:1", frozenset({0, 1})))
    eventually(lambda: other.urls_of(1) == ["http://a:1"])
    other.announce(WorkerRecord("b:1", "http://b:1", frozenset({1})))
    eventually(lambda: one.urls_of(1)[:1] == ["http://b:1"])
    assert (one.urls_of(0), one.urls_of(2), one.superseded()) == (["http://a:1"], [], [])
    other.announce(WorkerRecord("b:1", "http://b:1", frozenset({0, 1})))
    eventually(lambda: one.superseded() == ["a:1"])
    other.announce(WorkerRecord("b:1", None))
    eventually(lambda: one.urls_of(1)[:1] == ["http://a:1"])
