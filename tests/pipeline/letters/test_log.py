from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import NotFound, ServiceUnavailable
from frazil.pipeline.letters import log as log_module
from frazil.pipeline.letters.deadletter import DeadLetter, DeadLetterQueue
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.letters.log import LetterLog
from frazil.pipeline.letters.ranges import Ranges, by_partition
from frazil.stack.local import LocalStack
from tests.connectors.broker import BOOTSTRAP, Broker

STACK = pytest.param("stack", marks=pytest.mark.stack)


def quiet(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.fixture(params=["memory", STACK])
def bootstrap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """That of a cluster in memory, and of a real one."""
    if request.param == "memory":
        Broker().install(monkeypatch)
        return BOOTSTRAP
    stack: LocalStack = request.getfixturevalue("stack")
    return stack.settings.bootstrap_servers


@pytest.fixture
def log(bootstrap: str) -> LetterLog:
    return LetterLog(bootstrap)


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"t{uuid.uuid4().hex[:8]}-dlq"
    kafka_topics.ensure_topics(bootstrap, {name: (3, {"max.message.bytes": str(16 << 20)})})
    return name


def write(bootstrap: str, topic: str, numbers: range, value: bytes = b"{}", connector: str = "c") -> None:
    queue = DeadLetterQueue(bootstrap, connector, "Sink", topic, True)
    queue.write([DeadLetter("source", 0, n, 0, b"key", value, (("h", None),), "a", f"reason {n}") for n in numbers])


def open_letters(log: LetterLog, *topics: str) -> list[Letter]:
    queues = log.look(topics, quiet)
    return sorted(log.letters(queues, None, quiet), key=lambda letter: letter.record or ("", 0, 0))


def numbers(letters: list[Letter]) -> list[int]:
    return [letter.record[2] for letter in letters if letter.record]


def test_what_was_written_is_read_until_it_is_closed(bootstrap: str, log: LetterLog, topic: str) -> None:
    write(bootstrap, topic, range(1500))
    letters = open_letters(log, topic)
    assert numbers(letters) == list(range(1500))
    first = letters[0]
    assert (first.key, first.value, first.headers, first.cause) == (b"key", b"{}", (("h", None),), ("a", "reason 0"))
    rng = random.Random(5)
    left = dict.fromkeys(range(1500))
    for state in ("replayed", "dropped"):
        chosen = rng.sample(sorted(left), 500)
        queues = log.look([topic], quiet)
        log.close(queues, by_partition(letters[n].position for n in chosen), state)
        for n in chosen:
            del left[n]
        assert numbers(sorted(log.letters(queues, None, quiet), key=lambda x: x.record or ("", 0, 0))) == [
            n for n in sorted(left) if letters[n].offset < queues[0].end[letters[n].partition]
        ]
        assert numbers(open_letters(log, topic)) == sorted(left)


def test_closed_letters_are_not_read_again(
    bootstrap: str, log: LetterLog, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is closed in whatever order, and however little is looked at first."""
    monkeypatch.setattr(log_module, "_FIRST_LOOK", 20)
    rng = random.Random(8)
    left: set[int] = set()
    for step in range(6):
        write(bootstrap, topic, range(step * 100, step * 100 + 100))
        left |= set(range(step * 100, step * 100 + 100))
        letters = {letter.record[2]: letter for letter in open_letters(log, topic) if letter.record}
        assert set(letters) == left
        below = rng.randrange(step * 100, step * 100 + 100)
        chosen = {n for n in left if n < below or rng.random() < 0.1}
        queues = log.look([topic], quiet)
        log.close(queues, by_partition(letters[n].position for n in chosen), "dropped")
        left -= chosen
        assert all(queues[0].is_open(letters[n].partition, letters[n].offset) == (n in left) for n in letters)
    [queue] = log.look([topic], quiet)
    assert max(queue.floor.values()) > 100
    [newest] = log.look([topic], quiet, newest=20)
    assert newest.older == sum(newest.begin[p] for p in newest.begin if p not in newest.floor)
    assert {n for n, letter in letters.items() if queue.is_open(letter.partition, letter.offset)} == left
    assert queue.begin == {p: queue.floor.get(p, 0) for p in range(3)}


def test_closing_twice_and_later_letters(bootstrap: str, log: LetterLog, topic: str) -> None:
    write(bootstrap, topic, range(3))
    letters = open_letters(log, topic)
    queues = log.look([topic], quiet)
    for _ in range(2):
        log.close(queues, by_partition(letter.position for letter in letters), "replayed")
    write(bootstrap, topic, range(3, 5))
    assert numbers(open_letters(log, topic)) == [3, 4]


def test_a_marker_that_names_what_comes_later_does_not_close_it(bootstrap: str, log: LetterLog, topic: str) -> None:
    queues = log.look([topic], quiet)
    log.close(queues, {(topic, partition): Ranges([(0, 1000)]) for partition in range(3)}, "dropped")
    write(bootstrap, topic, range(10))
    assert numbers(open_letters(log, topic)) == list(range(10))


def test_a_marker_which_anybody_can_write_hides_nothing_from_the_worker(
    bootstrap: str, log: LetterLog, topic: str
) -> None:
    write(bootstrap, topic, range(3))
    queue = DeadLetterQueue(bootstrap, "c", "Sink", topic, True)
    before = queue.written(["source"])
    letters = open_letters(log, topic)
    log.close([], by_partition(x.position for x in letters), "dropped")
    assert open_letters(log, topic) == []
    assert [log.letter(*x.position) for x in letters] == letters
    assert queue.written(["source"]) == before
    assert queue.written_for(["source"], {}, {}, 0)[0] == before
    assert set(before) == {("source", 0, n, "") for n in range(3)}
    assert sorted(p for several in before.values() for p in several) == sorted(x.position for x in letters)


def test_several_topics_and_large_letters(bootstrap: str, log: LetterLog, topic: str) -> None:
    other = f"{topic}-dlq"
    kafka_topics.ensure_topics(bootstrap, {other: (1, {"max.message.bytes": str(16 << 20)})})
    write(bootstrap, topic, range(2))
    write(bootstrap, other, range(2, 4), value=b"x" * (10 << 20))
    letters = open_letters(log, topic, other)
    assert [len(letter.value or b"") for letter in letters] == [2, 2, 10 << 20, 10 << 20]
    assert [letter.topic for letter in letters] == [topic, topic, other, other]


@pytest.mark.parametrize("bootstrap", [STACK], indirect=True)
def test_only_what_is_as_new_is_read(bootstrap: str, log: LetterLog, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    now = int(time.time() * 1000)
    for age_s in (3600, 60, 0):
        producer.produce(topic, str(age_s), partition=0, timestamp=now - age_s * 1000)
    assert producer.flush(20) == 0
    queues = log.look([topic], quiet)
    for since, expected in ((now - 60_000, [b"60", b"0"]), (now + 1, []), (0, [b"3600", b"60", b"0"])):
        assert [letter.value for letter in log.letters(queues, since, quiet)] == expected


def test_one_letter(bootstrap: str, log: LetterLog, topic: str) -> None:
    write(bootstrap, topic, range(1))
    [letter] = open_letters(log, topic)
    assert log.letter(*letter.position) == letter
    log.close(log.look([topic], quiet), by_partition([letter.position]), "dropped")
    assert log.letter(*letter.position) == letter
    with pytest.raises(NotFound, match="is no dead letter but a marker"):
        log.letter(topic, letter.partition, 1)
    with pytest.raises(NotFound, match="has offsets 0 to 1: there is no dead letter 2"):
        log.letter(topic, letter.partition, 2)
    with pytest.raises(NotFound, match="has no record"):
        log.letter(topic, 7, 0)
    with pytest.raises(NotFound, match="does not exist"):
        log.letter(f"{topic}-none", 0, 0)


def test_a_broker_that_is_gone(free_ports: Callable[[int], list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "_STALLED_S", 1.0)
    [port] = free_ports(1)
    log = LetterLog(f"127.0.0.1:{port}")
    assert log.look([], quiet) == []
    with pytest.raises(ServiceUnavailable, match="does not answer"):
        log.look(["t"], quiet)
    with pytest.raises(ServiceUnavailable, match=r"could not be marked as replayed .* nothing is stored twice"):
        log.close([], {("t", 0): Ranges.of([1])}, "replayed")


def test_chosen_letters_are_read_while_they_are_open(bootstrap: str, log: LetterLog, topic: str) -> None:
    write(bootstrap, topic, range(200))
    letters = open_letters(log, topic)
    queues = log.look([topic], quiet)
    wanted = by_partition(letter.position for letter in letters[50:80])
    assert numbers(sorted(log.chosen(queues, wanted), key=lambda x: x.record or ("", 0, 0))) == list(range(50, 80))
    log.close(queues, by_partition([letters[60].position]), "dropped")
    assert 60 not in numbers(list(log.chosen(queues, wanted)))
    place = letters[0].partition
    beyond = {(topic, place): Ranges([(0, 10**9)]), (topic, 7): Ranges([(0, 5)]), ("other", 0): Ranges([(0, 5)])}
    assert {letter.partition for letter in log.chosen(queues, beyond)} == {place}


def test_a_look_at_the_newest_tells_what_it_left_out(bootstrap: str, log: LetterLog, topic: str) -> None:
    write(bootstrap, topic, range(100))
    letters = open_letters(log, topic)
    log.close(log.look([topic], quiet), by_partition(letter.position for letter in letters[:90]), "replayed")
    [whole] = log.look([topic], quiet)
    [queue] = log.look([topic], quiet, newest=20)
    assert (whole.older, queue.older) == (0, sum(whole.end.values()) - 20)
    seen = list(log.letters([queue]))
    assert seen and all(queue.begin[letter.partition] <= letter.offset for letter in seen)
    assert set(numbers(seen)) <= set(range(90, 100))
