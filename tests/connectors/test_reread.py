from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frazil.connectors.reread import read_again
from frazil.environment.settings import Settings
from tests.connectors.broker import Broker

SINK = {"connector.class": "IcebergSink", "topics": "t", "iceberg.tables": "db.t"}
UPSERT = {"iceberg.tables.upsert-mode-enabled": "true"}


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    broker = Broker().install(monkeypatch)
    broker.make("t")
    broker.send("t", [b"{}"] * 5)

    def told(config: dict[str, str], topic: str, partition: int, offset: int) -> list[str]:
        return list(read_again(config, "c", {(topic, partition): offset}, Settings({"FRAZIL_HOME": str(tmp_path)})))

    return told


def test_records_that_are_stored_already_are_counted_and_rows_would_be_doubled(lines: Any) -> None:
    first, second = lines(SINK, "t", 0, 4)
    assert first == "t-0: 4 records from offset 0 on would be read again"
    assert second == "rows of them that are in db.t would be there twice"
    assert lines(SINK | UPSERT, "t", 0, 4)[-1] == "they would take the place of the rows with their keys"
    assert lines({"connector.class": "ObjectSink"}, "t", 0, 4)[-1] == "what is stored of them would be stored again"


def test_a_position_at_the_beginning_reads_nothing_again(lines: Any) -> None:
    assert lines(SINK, "t", 0, 0) == ["nothing would be read again"]


def test_latest_leaves_records_out(lines: Any) -> None:
    (told,) = lines(SINK | {"consumer.override.auto.offset.reset": "latest"}, "t", 0, 4)
    assert "would go on at the end of its topics" in told


def test_a_topic_that_cannot_be_asked_is_told(lines: Any) -> None:
    first, second = lines(SINK, "gone", 0, 4)
    assert first.startswith("how many records it would read again is not known: ")
    assert "twice" in second
