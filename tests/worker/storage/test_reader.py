"""A topic is followed on a real broker while applying a record fails."""

from __future__ import annotations

import uuid

import pytest

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import topics as kafka_topics
from frazil.stack.local import LocalStack
from frazil.worker.storage.reader import TopicReader
from frazil.worker.storage.records import Malformed
from tests.harness import send
from tests.waits import eventually

pytestmark = pytest.mark.stack


@pytest.fixture
def topic(stack: LocalStack) -> str:
    name = f"read-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(stack.settings.bootstrap_servers, {name: (1, {})})
    return name


def test_a_record_that_fails_keeps_no_other_back_and_is_applied_later(
    stack: LocalStack, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    bootstrap = stack.settings.bootstrap_servers
    applied: list[tuple[str, bytes | None]] = []
    faults = ["a", "a", "b"]

    def apply(key: str, value: bytes | None) -> None:
        if value == b"malformed":
            raise Malformed("it makes no sense")
        if key in faults:
            faults.remove(key)
            raise RuntimeError("can't start new thread")
        applied.append((key, value))

    for key, value in (("a", b"1"), ("b", b"1"), ("c", b"1"), ("b", b"2"), ("a", b"malformed")):
        send(bootstrap, topic, [value], key=key)
    reader = TopicReader(kafka_client.client_config(bootstrap), topic, topic, apply)
    try:
        reader.start()
        assert applied == [("c", b"1"), ("b", b"2")], (
            "the newer record of the key takes the place of the one that failed"
        )
        problems = reader.problems()
        assert problems == {"a": f"the record in {topic}-0 at offset 4 is passed over: it makes no sense"}
        assert (reader.fails(["a"]), reader.fails(["b", "c"])) == (True, False)
        eventually(lambda: applied[2:] == [("a", b"1")])
        assert not reader.fails(["a"])
        send(bootstrap, topic, [b"2"], key="a")
        eventually(lambda: applied[3:] == [("a", b"2")])
        assert reader.problems() == {}
    finally:
        reader.close()
    assert caplog.text.count("RuntimeError: can't start new thread") == 2
    for said in ("0 was not applied; that", "4 is passed over: it makes no sense", "0 is applied now"):
        assert f"{topic}-0 at offset {said}" in caplog.text
