from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.errors import Rebalancing, ServiceUnavailable
from frazil.stack.local import LocalStack
from frazil.worker.lifecycle.store import StoredConnector
from frazil.worker.storage.configs import ConfigTopic
from frazil.worker.storage.topics import StorageTopic, ensure_storage_topic
from tests.harness import send
from tests.waits import eventually

pytestmark = pytest.mark.stack

Known = dict[str, StoredConnector]
Open = Callable[[], tuple[ConfigTopic, Known]]


@pytest.fixture
def topic(stack: LocalStack) -> str:
    name = f"configs-{uuid.uuid4().hex[:8]}"
    ensure_storage_topic(stack.settings.bootstrap_servers, StorageTopic("config.storage.topic", name, 1, 1, True))
    return name


@pytest.fixture
def open_store(stack: LocalStack, topic: str) -> Iterator[Open]:
    """Opens one more store on the topic; the dictionary follows what it tells."""
    bootstrap = stack.settings.bootstrap_servers
    client = kafka_client.client_config(bootstrap)
    with ExitStack() as opened:

        def make() -> tuple[ConfigTopic, Known]:
            known: Known = {}

            def follow(name: str, connector: StoredConnector | None, configured: bool) -> None:
                if connector is None:
                    del known[name]
                else:
                    known[name] = connector

            end = lambda: kafka_offsets.end_offsets(bootstrap, [topic])[topic, 0]  # noqa: E731
            store = ConfigTopic(client, client, topic, topic, end)
            opened.callback(store.close)
            store.open(follow)
            return store, known

        yield make


def test_a_change_is_known_when_it_returns_and_to_the_others_soon(open_store: Open) -> None:
    (leader, known), (_, others) = open_store(), open_store()
    leader.lead(True)
    leader.put("a", StoredConnector({"name": "a", "password": "${file:/x:y}"}, "STOPPED"))
    assert known == {"a": StoredConnector({"name": "a", "password": "${file:/x:y}"}, "STOPPED")}
    leader.retarget("a", "RUNNING")
    leader.put("b", StoredConnector({"name": "b"}, "RUNNING"))
    leader.put("b", StoredConnector({"name": "b", "x": "1"}, "RUNNING"))
    expected = {
        "a": StoredConnector({"name": "a", "password": "${file:/x:y}"}, "RUNNING"),
        "b": StoredConnector({"name": "b", "x": "1"}, "RUNNING"),
    }
    assert known == expected
    eventually(lambda: others == expected)
    leader.delete("a")
    leader.delete("a")
    assert list(known) == ["b"]
    assert open_store()[1] == {"b": expected["b"]}


def test_only_the_leader_writes(open_store: Open) -> None:
    store, known = open_store()
    with pytest.raises(Rebalancing, match="no known leader URL"):
        store.put("a", StoredConnector({"name": "a"}, "RUNNING"))
    assert known == {}


def test_a_change_that_cannot_be_carried_out_yet_is_tried_again(stack: LocalStack, topic: str) -> None:
    bootstrap = stack.settings.bootstrap_servers
    told: list[tuple[str, bool]] = []
    faults = [True, True]
    untold = f"the change is stored in topic {topic}, and could not"

    def follow(name: str, connector: StoredConnector | None, configured: bool) -> None:
        if faults:
            faults.pop()
            raise RuntimeError("can't start new thread")
        told.append((name, connector is None))

    client = kafka_client.client_config(bootstrap)
    store = ConfigTopic(client, client, topic, topic, lambda: kafka_offsets.end_offsets(bootstrap, [topic])[topic, 0])
    try:
        store.open(follow)
        store.lead(True)
        with pytest.raises(ServiceUnavailable, match=untold):
            store.put("a", StoredConnector({"name": "a"}, "RUNNING"))
        problem = store.problems().get("a", "RuntimeError: can't start new thread")  # it may be carried out by now
        assert problem.endswith("RuntimeError: can't start new thread")
        eventually(lambda: told == [("a", False)])
        assert store.problems() == {}
        faults.append(True)
        with pytest.raises(ServiceUnavailable, match=untold):
            store.delete("a")
        eventually(lambda: told == [("a", False), ("a", True)])
    finally:
        store.close()


def test_a_leader_that_was_replaced_cannot_write_any_more(open_store: Open) -> None:
    (old, _), (new, known) = open_store(), open_store()
    old.lead(True)
    old.put("a", StoredConnector({"name": "a"}, "RUNNING"))
    new.lead(True)  # and nobody has told the old one
    new.put("b", StoredConnector({"name": "b"}, "RUNNING"))
    assert set(known) == {"a", "b"}
    with pytest.raises(Rebalancing, match="conflicting operation"):
        old.delete("a")
    assert set(open_store()[1]) == {"a", "b"}


def test_records_that_cannot_be_read_are_passed_over(
    stack: LocalStack, topic: str, open_store: Open, caplog: pytest.LogCaptureFixture
) -> None:
    bootstrap = stack.settings.bootstrap_servers
    send(bootstrap, topic, [b'{"properties":{"name":"good"}}'], key="connector-good")
    send(bootstrap, topic, [b"{"], key="connector-bad")
    send(bootstrap, topic, [b"{}"], key="task-good-0")
    send(bootstrap, topic, [b"{}"], key=b"\xff")
    store, known = open_store()
    assert known == {"good": StoredConnector({"name": "good"}, "RUNNING")}
    assert [*store.problems()] == ["bad"]
    assert "at offset 1 is passed over: its value is not JSON" in store.problems()["bad"]
    assert f"{topic}-0 at offset 1 is passed over: its value is not JSON" in caplog.text
    assert "at offset 3 is passed over: its key is not UTF-8 text" in caplog.text
    assert "offset 2" not in caplog.text
