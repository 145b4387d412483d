"""Records that make a step of an Iceberg sink raise what nothing has foreseen."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from frazil.clients.kafka.headers import headers_of
from frazil.connectors.iceberg.table.write import PartitionedWriter
from frazil.errors import BadRecord
from frazil.pipeline.convert.decode import Decoded, RecordDecoder
from tests.connectors.iceberg.driver import CREATE, DYNAMIC, EVOLVE, SIMPLE, TABLE, TOLERANT, Driver, memory, record


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the decoder raise for the text `odd`, and the end of a file for `late`."""
    decode, rehearse, close = RecordDecoder.decode, PartitionedWriter.rehearse, PartitionedWriter.close

    def decoded(self: RecordDecoder, rows: Sequence[bytes | None], **named: Any) -> Decoded:
        if any(b'"odd"' in (row or b"") for row in rows):
            raise IndexError("beyond the end")
        return decode(self, rows, **named)

    def look(self: PartitionedWriter) -> None:
        for file in self._files.values():
            for part in file.waiting:
                if "late" in part.column("text").to_pylist():
                    raise OverflowError("statistics")

    def closed(self: PartitionedWriter, end: Any) -> Any:
        look(self)
        return end(self)

    monkeypatch.setattr(RecordDecoder, "decode", decoded)
    monkeypatch.setattr(PartitionedWriter, "rehearse", lambda self: closed(self, rehearse))
    monkeypatch.setattr(PartitionedWriter, "close", lambda self: closed(self, close))


VALUES = [record(n, text="odd" if n in (3, 11) else "late" if n == 8 else "good") for n in range(20)]


@pytest.mark.usefixtures("raising")
def test_they_become_dead_letters_and_the_log_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    with memory({TABLE: SIMPLE}) as (broker, catalog):
        driver = Driver(broker, catalog, TOLERANT)
        broker.send("t", VALUES)
        with caplog.at_level(logging.ERROR):
            driver.drain()
        assert driver.column(TABLE) == [n for n in range(20) if n not in (3, 8, 11)]
        assert broker.letters("t-dlq").keys() == {("t", 0, n, "") for n in (3, 8, 11)}
        (report,) = driver.reports
        assert (report.read, report.stored, report.dead_letters) == (20, 17, 3)
        told = [one.getMessage() for one in caplog.records]
        assert len(told) == 2, "one for each cause"
        assert "topic t, partition 0, offset 3: step convert failed unexpectedly with IndexError at " in told[0]
        headers = dict(headers_of(broker.records("t-dlq")[0]))
        assert headers["__connect.errors.stage"] == b"VALUE_CONVERTER"
        assert headers["__connect.errors.exception.class.name"] == b"IndexError"
        assert b"beyond the end" in (headers["__connect.errors.exception.stacktrace"] or b"")


@pytest.mark.usefixtures("raising")
def test_without_tolerance_the_failure_names_the_record_and_what_lies_before_it_is_stored() -> None:
    with memory({TABLE: SIMPLE}) as (broker, catalog):
        driver = Driver(broker, catalog, {})
        broker.send("t", VALUES)
        with pytest.raises(BadRecord, match="topic t, partition 0, offset 3: step convert failed unexpectedly"):
            driver.drain()
        assert driver.column(TABLE) == [0, 1, 2]


@pytest.mark.usefixtures("raising")
def test_they_end_no_batch_whose_table_is_made_or_changed_on_the_way() -> None:
    with memory({}) as (broker, catalog):
        driver = Driver(broker, catalog, {**DYNAMIC, **TOLERANT, **EVOLVE, **CREATE})
        broker.send("t", [record(n, text=text, to="db.new") for n, text in enumerate(["good", "odd", "late"])])
        broker.send("t", [record(9, text="good", to="db.new", more=1)])
        broker.send("t", [record(7, text="odd", to="db.odd")])
        driver.drain()
        assert driver.column("db.new") == [0, 9]
        assert not catalog.table_exists("db.odd")
        assert {refusal[2] for refusal in broker.letters("t-dlq")} == {1, 2, 4}
