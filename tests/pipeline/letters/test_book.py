"""Which dead letters are written, and which are closed, over runs that read records again."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from frazil.errors import ServiceUnavailable
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import PREFIX, SEAL, DeadLetter
from frazil.pipeline.letters.letter import read_letter
from frazil.pipeline.letters.marks import lowest
from tests.connectors.broker import BOOTSTRAP, Broker


def letter(offset: int, table: str = "", partition: int = 0) -> DeadLetter:
    return DeadLetter("t", partition, offset, 5, None, b"{", (), "", "the value is not JSON", table=table)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker().install(monkeypatch)
    broker.make("t", 2)
    return broker


def opened(broker: Broker, begin: int = 0) -> LetterBook:
    """The book of a start that reads on from an offset."""
    book = LetterBook(broker.queue("c", "t"), BOOTSTRAP, "c")
    book.start(["t"], round(time.time() * 1000), {("t", 0): begin, ("t", 1): begin})
    return book


def test_without_a_queue_bad_records_are_not_tolerated(broker: Broker) -> None:
    book = LetterBook(None, BOOTSTRAP, "c")
    book.start(["t"], 0, {})
    book.write([])
    assert not book.tolerant
    assert (set(book.written), broker.topics()) == (set(), ["t"])
    assert opened(broker).tolerant


def test_each_is_written_once_for_each_table_that_refuses_it(broker: Broker) -> None:
    book = opened(broker)
    book.write([letter(1), letter(1, "a"), letter(1, "b"), letter(1, partition=1)])
    book.write([letter(1, "a"), letter(2)])
    again = opened(broker)
    again.write([letter(1), letter(2), letter(3)])
    expected = {("t", 0, 1, ""), ("t", 0, 1, "a"), ("t", 0, 1, "b"), ("t", 1, 1, ""), ("t", 0, 2, ""), ("t", 0, 3, "")}
    assert broker.letters("t-dlq").keys() == again.written == expected
    assert len(broker.records("t-dlq")) == 6


def test_letters_of_other_connectors_are_not_its_own(broker: Broker) -> None:
    LetterBook(broker.queue("other", "t"), BOOTSTRAP, "other").write([letter(1)])
    book = opened(broker)
    assert not book.written
    book.write([letter(1)])
    assert len(broker.records("t-dlq")) == 2


@pytest.mark.parametrize("forged", ["no seal", "a seal of another target", "another value", "another offset"])
def test_what_others_write_to_the_topic_hides_no_record(broker: Broker, forged: str) -> None:
    mine = broker.queue("c", "t")
    other = replace(mine, secret=b"another target")
    others = {"no seal": mine, "a seal of another target": other, "another value": mine, "another offset": mine}
    headers = dict(others[forged].context(letter(1)))
    if forged == "no seal":
        del headers[SEAL]
    if forged == "another offset":
        headers |= {PREFIX + "offset": b"2"}
    value = b"something else" if forged == "another value" else b"{"
    broker.send("t-dlq", [value], headers=list(headers.items()))
    book = opened(broker)
    assert not book.written
    book.write([letter(1), letter(2)])
    assert opened(broker).written == {("t", 0, 1, ""), ("t", 0, 2, "")}


def test_letters_are_found_without_kafka_connects_headers(broker: Broker) -> None:
    queue = replace(broker.queue("c", "t"), context_headers=False)
    LetterBook(queue, BOOTSTRAP, "c").write([letter(1)])
    assert opened(broker).written == {("t", 0, 1, "")}
    (written,) = (read_letter(message) for message in broker.records("t-dlq"))
    assert written is not None
    assert (written.connector, written.record, written.cause) == ("c", ("t", 0, 1), ("", "the value is not JSON"))
    assert written.headers == ()


def test_marks_lead_to_the_letters_of_records_that_are_read_again(broker: Broker) -> None:
    LetterBook(broker.queue("other", "t"), BOOTSTRAP, "other").write([letter(offset) for offset in range(3)])
    book = opened(broker)
    assert book.marks({}) == {("t-dlq", 0): 3}
    book.write([letter(1), letter(2), letter(3)])
    assert book.marks({("t", 0): 1}) == {("t-dlq", 0): 3}
    assert book.marks({("t", 0): 3}) == {("t-dlq", 0): 5}
    assert book.marks({("t", 0): 4}) == {("t-dlq", 0): 6}
    again = LetterBook(broker.queue("c", "t"), BOOTSTRAP, "c")
    in_a_year = 4 * 10**12  # whatever clocks say
    again.start(["t"], in_a_year, {("t", 0): 3}, book.marks({("t", 0): 3}))
    assert (again.written, again.marks({})) == ({("t", 0, 3, "")}, {("t-dlq", 0): 5})
    assert again.marks({("t", 0): 4}) == {("t-dlq", 0): 6}


def test_without_marks_and_a_time_nothing_is_looked_for(broker: Broker) -> None:
    opened(broker).write([letter(1)])
    book = LetterBook(broker.queue("c", "t"), BOOTSTRAP, "c")
    book.start(["t"], None, {})
    assert (book.written, book.marks({})) == (set(), {("t-dlq", 0): 1})


def test_partitions_that_a_dead_letter_topic_has_got_since_are_looked_at(broker: Broker) -> None:
    broker.make("t-dlq", 2)
    opened(broker).write([letter(1)])
    book = LetterBook(broker.queue("c", "t"), BOOTSTRAP, "c")
    book.start(["t"], None, {}, {("t-dlq", 1): 0})
    assert book.written == {("t", 0, 1, "")}


def test_marks_of_several_positions_are_the_lowest_of_those_that_all_have() -> None:
    assert lowest([]) == {}
    assert lowest([{("d", 0): 5, ("d", 1): 2}, {("d", 0): 3}]) == {("d", 0): 3}


def test_letters_of_records_that_are_not_read_again_are_forgotten(broker: Broker) -> None:
    book = opened(broker)
    book.write([letter(offset) for offset in (1, 2, 3)])
    assert opened(broker, begin=3).written == {("t", 0, 3, "")}
    book.forget({("t", 0): 2, ("t", 1): 9})
    assert book.written == {("t", 0, 2, ""), ("t", 0, 3, "")}


def test_a_letter_that_is_not_acknowledged_is_written_again(broker: Broker) -> None:
    book = opened(broker)
    broker.produce_faults = ["refused"]
    with pytest.raises(ServiceUnavailable, match="1 of 1 dead letters"):
        book.write([letter(1)])
    assert not book.written
    book.write([letter(1)])
    assert broker.letters("t-dlq").keys() == {("t", 0, 1, "")}


def test_letters_of_an_earlier_run_are_closed_when_their_records_are_stored(broker: Broker) -> None:
    opened(broker).write([letter(offset, table) for offset in (1, 2, 3, 7) for table in ("a", "b")])
    book = opened(broker)
    book.close_stored("a", {("t", 0, 2, "a")}, {("t", 0): 1}, {("t", 0): 5})
    still = {("t", 0, 2, "a"), ("t", 0, 7, "a"), *(("t", 0, offset, "b") for offset in (1, 2, 3, 7))}
    assert broker.letters("t-dlq").keys() == still
    count = len(broker.records("t-dlq"))
    book.close_stored("a", {("t", 0, 2, "a")}, {("t", 0): 1}, {("t", 0): 5})
    assert len(broker.records("t-dlq")) == count, "once is enough"


def test_letters_below_the_range_that_is_stored_stay_open(broker: Broker) -> None:
    opened(broker).write([letter(1), letter(2)])
    book = opened(broker)
    book.close_stored("", set(), {("t", 0): 2}, {("t", 0): 5})
    assert broker.letters("t-dlq").keys() == {("t", 0, 1, "")}


def test_letters_of_this_run_are_never_closed_by_it(broker: Broker) -> None:
    book = opened(broker)
    book.write([letter(1)])
    book.close_stored("", set(), {("t", 0): 0}, {("t", 0): 5})
    assert broker.letters("t-dlq").keys() == {("t", 0, 1, "")}


def test_all_places_of_a_letter_that_was_written_more_than_once_are_closed(broker: Broker) -> None:
    """As by a worker that was fenced."""
    for _ in range(2):
        LetterBook(broker.queue("c", "t"), BOOTSTRAP, "c").write([letter(1)])
    book = opened(broker)
    book.close_stored("", set(), {}, {("t", 0): 5})
    assert broker.letters("t-dlq") == {}


def test_a_failed_closing_is_told_and_is_no_failure(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    opened(broker).write([letter(1)])
    book = opened(broker)
    broker.produce_faults = ["refused"]
    book.close_stored("", set(), {}, {("t", 0): 5})
    assert "drop these before you replay others (deadletters drop --connector c)" in caplog.text
