"""Bad records: each becomes a dead letter or stops the connector; its neighbours are stored."""

from __future__ import annotations

import pytest

from tests.harness import Pipe, Worker, event, messages
from tests.waits import eventually

pytestmark = pytest.mark.spark

BIG = 5_000_000
BAD = {
    "malformed": b'{"id": 1, "time": ',
    "trailing": b'{"id": 1} {"id": 2}',
    "empty": b"",
    "blank": b"  ",
    "array": b"[1, 2]",
    "number": b"5",
    "text": b'"text"',
    "missing time": b'{"id": 1}',
    "null time": b'{"id": 1, "time": null}',
    "time is a word": b'{"id": 1, "time": "yesterday"}',
    "text for a number": event(1, count="many"),
    "object for a number": event(1, count={"a": 1}),
    "fraction for an integer": event(1, count=1.5),
    "long overflow": event(1, info={"size": 2**63}),
    "scalar for a struct": event(1, info=5),
    "array for a map": event(1, labels=[1]),
    "invalid UTF-8": event(1).replace(b"note 1", b"note \xff\xfe"),
    "invalid UTF-8 in an unknown field": event(1, extra="x").replace(b'"x"', b'"\xff"'),
    "lone surrogate": event(1).replace(b"note 1", b"\\ud800"),
    "deep nesting": b'{"id": 1, "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "5 MB of nonsense": b'{"id": 1, "note": "' + b"x" * BIG,
}
TOLERANT = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.context.headers.enable": "true",
}
"""Without a replication factor: the broker's default counts, which fits a cluster of one broker too."""


def test_every_bad_record_becomes_a_dead_letter_and_its_neighbours_are_stored(worker: Worker, pipe: Pipe) -> None:
    for number, bad in enumerate(BAD.values()):
        pipe.send([event(2 * number)], partition=0)
        pipe.send([bad], partition=0, key=f"key {number}".encode(), headers=[("trace", b"t%d" % number)])
        pipe.send([event(2 * number + 1)], partition=0)
    worker.client.put_config(pipe.connector, pipe.config() | TOLERANT)

    eventually(lambda: pipe.lag() == 0)

    assert pipe.ids() == list(range(2 * len(BAD)))
    letters = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    assert [letter.value() for letter in letters] == list(BAD.values())
    for number, letter in enumerate(letters):
        headers = dict(letter.headers())
        assert letter.key() == f"key {number}".encode()
        assert headers["trace"] == b"t%d" % number
        assert headers["__connect.errors.topic"] == pipe.name.encode()
        assert headers["__connect.errors.partition"] == b"0"
        assert headers["__connect.errors.offset"] == str(3 * number + 1).encode()
        assert headers["__connect.errors.connector.name"] == pipe.connector.encode()
        assert headers["__connect.errors.exception.message"]
    reasons = {
        name: dict(m.headers())["__connect.errors.exception.message"] for name, m in zip(BAD, letters, strict=True)
    }
    assert b"column time: the required value is missing" in reasons["missing time"]
    assert b"column info.size: the number does not fit in 64 bits" in reasons["long overflow"]


def test_a_record_of_5_mb_that_is_good_is_stored(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(1), event(2, info={"size": 2, "note": "ä" * (BIG // 2)}), event(3)])
    worker.client.put_config(pipe.connector, pipe.config())

    eventually(lambda: pipe.ids() == [1, 2, 3])

    assert max(len(row["info"]["note"]) for row in pipe.rows()) == BIG // 2


def test_without_tolerance_the_connector_stops_at_the_record(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n) for n in range(10)], partition=1)
    pipe.send([event(10, count="many"), event(11)], partition=1)
    pipe.send([event(20)], partition=2)
    worker.client.put_config(pipe.connector, pipe.config())

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    status = worker.client.status(pipe.connector)
    assert status["connector"]["state"] == "RUNNING"
    trace = worker.trace(pipe.connector)
    assert f"topic {pipe.name}, partition 1, offset 10, column count: the text is not an integer" in trace
    assert trace.startswith("frazil.errors.BadRecord: ")
    assert "errors.tolerance=all" in trace
    assert all(task["state"] == "FAILED" and task["trace"] == trace for task in status["tasks"])
    assert pipe.ids() == [*range(10), 20]  # what lies before the record is stored, and the other partitions are
    assert pipe.lag() == 2  # the group has the position, as the table does

    worker.client.put_config(pipe.connector, pipe.config() | TOLERANT)
    eventually(lambda: pipe.ids() == [*range(10), 11, 20])
    (letter,) = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    assert letter.value() == event(10, count="many")


def test_a_replication_factor_that_the_cluster_cannot_have_is_named(worker: Worker, pipe: Pipe) -> None:
    key = "errors.deadletterqueue.topic.replication.factor"
    worker.client.put_config(pipe.connector, pipe.config() | TOLERANT | {key: "3"})

    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    trace = worker.trace(pipe.connector)
    assert trace.startswith("frazil.errors.ConfigError: ")
    assert f"{key} (it is 3)" in trace


def test_a_flood_of_bad_records_is_divided_and_nothing_is_lost(worker: Worker, pipe: Pipe) -> None:
    """More dead letters than one task hands over at a time."""
    bad = b'{"id": ' + b"x" * 500_000
    for number in range(90):
        pipe.send([bad, event(number)], partition=number % 3)
    worker.client.put_config(pipe.connector, pipe.config() | TOLERANT)

    eventually(lambda: pipe.lag() == 0)

    assert pipe.ids() == list(range(90))
    assert pipe.snapshots() <= 4  # in halves, not in ever smaller pieces
    assert len(messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")) == 90


def test_a_record_that_would_bring_thousands_of_columns_is_a_dead_letter(worker: Worker, pipe: Pipe) -> None:
    columns = len(pipe.table().schema().column_names)
    many = {f"c{n}": n for n in range(10_000)}
    pipe.send([event(1, new="x"), event(2, **many), event(3)])
    worker.client.put_config(pipe.connector, pipe.config() | TOLERANT)

    eventually(lambda: pipe.ids() == [1, 3])

    (letter,) = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    reason = dict(letter.headers())["__connect.errors.exception.message"]
    assert b"the record would bring more than 2,000 new columns, as frazil.schema.max.new.columns allows" in reason
    assert len(pipe.table().schema().column_names) == columns + 1
    pipe.send([event(4, fresh="x")])
    eventually(lambda: pipe.ids() == [1, 3, 4])
    assert "fresh" in pipe.table().schema().column_names


def test_names_that_collide_in_one_batch_stop_nothing(worker: Worker, pipe: Pipe) -> None:
    """Iceberg finds columns by dotted names: of two fields of one full name only one can become a column."""
    pipe.send(
        [
            event(1),
            event(2, **{"x.b": 1, "x": {"b": 2}}),
            event(3, y={"a.b": 1, "a": {"b": 2}}),
            event(4, **{"l": [1], "l.element": 5}),
            event(5, z=1),
        ]
    )
    worker.client.put_config(pipe.connector, pipe.config() | TOLERANT)

    eventually(lambda: pipe.lag() == 0)

    letters = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    assert len(pipe.ids()) + len(letters) == 5
    assert {1, 5} <= set(pipe.ids())
    assert worker.state(pipe.connector) == "RUNNING"
