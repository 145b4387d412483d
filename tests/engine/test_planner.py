"""When connectors get their turns, on a cluster in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator

import pytest

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.client import Settling
from frazil.clients.kafka.offsets import TopicEnds
from frazil.engine import planner as planning
from frazil.engine.planner import Planner
from frazil.environment.bootstrap import Bootstrap
from frazil.errors import ServiceUnavailable, TerminalError
from frazil.pipeline.offsets import Offsets
from tests.connectors.broker import BOOTSTRAP, Broker
from tests.waits import PATIENCE_S, eventually

POLL_S = 0.005


class Waiting:
    """A connector that takes no turns, and keeps what it is offered."""

    def __init__(self, *topics: str, pattern: str | None = None, committed: bool = False, cluster: str = BOOTSTRAP):
        self.cluster = Bootstrap(cluster)
        self.topics: Collection[str] = topics
        self.pattern = pattern
        self.committed = committed
        self.is_waiting = True
        self.offers: list[Offsets] = []
        self.failures: list[BaseException] = []

    def offer(self, ends: Offsets, now_ms: int) -> None:
        assert abs(now_ms - time.time() * 1000) < 60_000
        self.offers.append(ends)

    def fail(self, error: BaseException) -> None:
        self.is_waiting = False
        self.failures.append(error)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker().install(monkeypatch)
    broker.make("t", 2)
    broker.make("u")
    broker.send("t", [b"1", b"2"])
    return broker


@pytest.fixture
def planner() -> Iterator[Planner]:
    made = Planner(POLL_S)
    yield made
    made.close()


def loops() -> int:
    return sum(thread.name == f"ends-{BOOTSTRAP}" for thread in threading.enumerate())


def looked(runner: Waiting, times: int = 1) -> None:
    """Return when the runner was offered so many times more."""
    before = len(runner.offers)
    eventually(lambda: len(runner.offers) >= before + times)


def test_each_runner_is_offered_the_ends_of_what_it_reads(broker: Broker, planner: Planner) -> None:
    first, second = Waiting("t"), Waiting("t", "u")
    planner.add(first)
    planner.add(second)
    looked(second)
    assert first.offers[-1] == {("t", 0): 2, ("t", 1): 0}
    assert second.offers[-1] == {("t", 0): 2, ("t", 1): 0, ("u", 0): 0}
    broker.send("u", [b"1"])
    looked(second, 2)
    assert second.offers[-1][("u", 0)] == 1
    assert loops() == 1
    for runner in (first, second):
        planner.remove(runner)


def test_runners_that_cannot_take_a_turn_are_left_alone(
    broker: Broker, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Collection[str]] = []
    look = kafka_offsets.look_at_ends

    def counted(bootstrap: str, topics: Collection[str], *, committed: bool = False) -> TopicEnds:
        asked.append(set(topics))
        return look(bootstrap, topics, committed=committed)

    monkeypatch.setattr(kafka_offsets, "look_at_ends", counted)
    busy, waiting = Waiting("t"), Waiting("u")
    busy.is_waiting = False
    planner.add(busy)
    time.sleep(4 * POLL_S)
    assert asked == []
    planner.add(waiting)
    looked(waiting, 3)
    assert busy.offers == []
    assert {frozenset(each) for each in asked} == {frozenset({"u"})}
    for runner in (busy, waiting):
        planner.remove(runner)


def test_those_that_read_committed_records_only_are_told_other_ends(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(bootstrap: str, topics: Collection[str], *, committed: bool = False) -> TopicEnds:
        return TopicEnds({("t", 0): 5 if committed else 9}, {})

    monkeypatch.setattr(kafka_offsets, "look_at_ends", look)
    every, committed = Waiting("t"), Waiting("t", committed=True)
    planner.add(every)
    planner.add(committed)
    looked(committed)
    assert (every.offers[-1], committed.offers[-1]) == ({("t", 0): 9}, {("t", 0): 5})
    for runner in (every, committed):
        planner.remove(runner)


def test_a_pattern_finds_topics_that_come_later(
    broker: Broker, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "_TOPICS_S", 0.0)
    runner = Waiting("t", pattern="t.*")
    planner.add(runner)
    looked(runner)
    assert {topic for topic, _ in runner.offers[-1]} == {"t"}
    broker.make("t-new")
    looked(runner, 2)
    assert {topic for topic, _ in runner.offers[-1]} == {"t", "t-new"}
    planner.remove(runner)


def test_topics_of_patterns_are_looked_up_now_and_then_only(
    broker: Broker, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    names = kafka_topics.topics

    def look_up(bootstrap: str) -> list[str]:
        counted.append(1)
        return names(bootstrap)

    monkeypatch.setattr(kafka_topics, "topics", look_up)
    several = [Waiting("t", pattern="t.*"), Waiting("u", pattern="u.*")]
    for runner in several:
        planner.add(runner)
    for runner in several:
        looked(runner, 3)
    assert len(counted) == 1
    for runner in several:
        planner.remove(runner)


def test_a_runner_fails_when_its_topic_is_not_to_be_seen_twice_in_a_row(broker: Broker, planner: Planner) -> None:
    lost, other = Waiting("t"), Waiting("u")
    broker.delete("t")
    planner.add(lost)
    planner.add(other)
    eventually(lambda: lost.failures)
    (error,) = lost.failures
    assert isinstance(error, ServiceUnavailable), "the next start says what has become of it"
    assert "cannot be looked at any more: topic t does not exist" in str(error)
    looked(other, 2)
    assert (other.failures, len(lost.failures)) == ([], 1)
    for runner in (lost, other):
        planner.remove(runner)


def test_one_bad_look_is_no_failure(broker: Broker, planner: Planner) -> None:
    runner = Waiting("t")
    bad: list[BaseException | None] = [ServiceUnavailable("no answer"), None]
    broker.faults["look_at_ends"] = bad * 5
    planner.add(runner)
    looked(runner, 5)
    assert (runner.failures, broker.faults["look_at_ends"]) == ([], [])
    planner.remove(runner)


def test_a_partition_without_a_leader_is_waited_for_but_not_for_ever(
    broker: Broker, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = Waiting("t")
    broker.faults["look_at_ends"] = [Settling("no leader yet")] * 6
    planner.add(runner)
    looked(runner)
    assert (runner.failures, broker.faults["look_at_ends"]) == ([], [])
    monkeypatch.setattr("frazil.engine.planner.TIMEOUT_S", 3 * POLL_S)
    broker.faults["look_at_ends"] = [Settling("no leader yet")] * 100
    eventually(lambda: runner.failures)
    planner.remove(runner)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ServiceUnavailable("no answer"), "no answer"),
        (TerminalError("not allowed"), "what was read until now cannot be looked at any more: not allowed"),
        (ValueError("oops"), "what was read until now cannot be looked at any more: ValueError: oops"),
    ],
)
def test_a_cluster_that_does_not_answer_fails_its_runners_and_the_loop_goes_on(
    broker: Broker, planner: Planner, error: Exception, told: str
) -> None:
    several = [Waiting("t"), Waiting("u")]
    broker.faults["look_at_ends"] = [error, error]
    for runner in several:
        runner.is_waiting = False
        planner.add(runner)
    for runner in several:
        runner.is_waiting = True
    eventually(lambda: any(runner.failures for runner in several))
    found = [str(failure) for runner in several for failure in runner.failures]
    assert set(found) == {told}
    later = Waiting("t")
    planner.add(later)
    looked(later)
    for runner in (*several, later):
        planner.remove(runner)


def test_a_topic_without_partitions_ends_no_loop(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_offsets, "look_at_ends", lambda *_, **__: TopicEnds({}, {}))
    runner = Waiting("t")
    planner.add(runner)
    looked(runner, 2)
    assert runner.offers[-1] == {}
    planner.remove(runner)


def test_a_bad_look_at_a_runner_that_was_just_removed_does_not_count_when_it_is_back(
    broker: Broker, planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, runner = Waiting("u"), Waiting("t")
    stays.is_waiting = False
    look = kafka_offsets.look_at_ends
    bad_looks: list[int] = []

    def bad(bootstrap: str, topics: Collection[str], *, committed: bool = False) -> TopicEnds:
        if len(bad_looks) == 2:
            return look(bootstrap, topics, committed=committed)
        if not bad_looks:
            planner.remove(runner)
        bad_looks.append(1)
        raise ServiceUnavailable("no answer")

    monkeypatch.setattr(kafka_offsets, "look_at_ends", bad)
    planner.add(stays)
    planner.add(runner)
    eventually(lambda: bad_looks)
    planner.add(runner)
    looked(runner)
    assert (len(bad_looks), runner.failures) == (2, [])
    for each in (stays, runner):
        planner.remove(each)


def test_the_loop_of_a_cluster_ends_with_its_last_runner_and_begins_again_with_the_next(
    broker: Broker, planner: Planner
) -> None:
    runner, elsewhere = Waiting("t"), Waiting("t", cluster="other:9092")
    planner.add(runner)
    planner.add(elsewhere)
    looked(runner)
    planner.remove(runner)
    planner.remove(runner)
    eventually(lambda: loops() == 0)
    offers = len(runner.offers)
    looked(elsewhere, 2)
    assert len(runner.offers) == offers
    planner.add(runner)
    looked(runner)
    assert loops() == 1
    for each in (runner, elsewhere):
        planner.remove(each)


def test_runners_that_come_and_go_at_the_same_time_are_all_offered(broker: Broker, planner: Planner) -> None:
    """No runner is given to a loop that ends just then."""

    def comes_and_goes() -> None:
        for _ in range(20):
            runner = Waiting("t")
            planner.add(runner)
            looked(runner)
            planner.remove(runner)

    threads = [threading.Thread(target=comes_and_goes) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    eventually(lambda: loops() == 0)


def test_a_closed_planner_begins_no_more_turns() -> None:
    planner = Planner(POLL_S)
    began, end = threading.Event(), threading.Event()
    turns: list[str] = []

    def long() -> None:
        began.set()
        assert end.wait(PATIENCE_S)
        turns.append("first")

    planner._turns._most = 1  # noqa: SLF001 - so that the second one waits
    planner.take_turn(long)
    assert began.wait(PATIENCE_S)
    planner.take_turn(lambda: turns.append("second"))
    planner.close()
    end.set()
    eventually(lambda: turns)
    time.sleep(0.05)
    assert turns == ["first"]
