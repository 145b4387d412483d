"""Membership on a real broker while the worker cannot take over what it is given."""

from __future__ import annotations

import uuid

import pytest

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import topics as kafka_topics
from frazil.stack.local import LocalStack
from frazil.worker.cluster.member import GroupMember, Timing
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.stack


def test_taking_over_is_tried_until_it_succeeds(stack: LocalStack, caplog: pytest.LogCaptureFixture) -> None:
    bootstrap, group = stack.settings.bootstrap_servers, f"group-{uuid.uuid4().hex[:8]}"
    kafka_topics.ensure_topics(bootstrap, {group: (2, {})})
    given: list[frozenset[int]] = []
    ticks: list[int] = []

    def take_over(slots: frozenset[int]) -> None:
        given.append(slots)
        if slots and given.count(slots) < 3:
            raise RuntimeError("can't start new thread")

    member = GroupMember(
        kafka_client.client_config(bootstrap),
        group,
        group,
        "http://a:1",
        take_over,
        lambda: ticks.append(len(given)),
        Timing(),
    )
    try:
        member.join(PATIENCE_S)
        both = frozenset({0, 1})
        assert member.slots == both
        eventually(lambda: given.count(both) == 3)
        eventually(lambda: ticks.count(len(given)) > 1)
        assert given.count(both) == 3, "what has succeeded is not done again"
    finally:
        member.close()
    assert given[-1] == frozenset()
    assert caplog.text.count("taking over its connectors failed; it is tried again every second") == 1
