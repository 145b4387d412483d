"""Which dead letters are written, and which are closed, over runs that read records again."""

from __future__ import annotations

import time

import pytest

from frazil.errors import ServiceUnavailable
from frazil.pipeline.letters.book import LetterBook
from frazil.pipeline.letters.deadletter import DeadLetter
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
