from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frazil.cli.connect.offsets import read_again
from frazil.environment.settings import Settings
from tests.connectors.broker import Broker

SINK = {"connector.class": "IcebergSink", "topics": "t", "iceberg.tables": "db.t"}
UPSERT = {"iceberg.tables.upsert-mode-enabled": "true"}


def position(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    broker = Broker().install(monkeypatch)
    broker.make("t")
    broker.send("t", [b"{}"] * 5)

    def told(config: dict[str, str], *offsets: dict[str, Any]) -> list[str]:
        return list(read_again(config, "c", offsets, Settings({"FRAZIL_HOME": str(tmp_path)})))

    return told


def test_records_that_are_stored_already_are_counted_and_rows_would_be_doubled(lines: Any) -> None:
    first, second = lines(SINK, position("t", 0, 4))
    assert first == "t-0: 4 records from offset 0 on would be read again"
    assert second == "rows of them that are in db.t would be there twice"
    assert lines(SINK | UPSERT, position("t", 0, 4))[-1] == "they would take the place of the rows with their keys"
    assert (
        lines({"connector.class": "ObjectSink"}, position("t", 0, 4))[-1]
        == "what is stored of them would be stored again"
    )


def test_a_position_at_the_beginning_reads_nothing_again(lines: Any) -> None:
    assert lines(SINK, position("t", 0, 0)) == ["nothing would be read again"]


def test_latest_leaves_records_out(lines: Any) -> None:
    (told,) = lines(SINK | {"consumer.override.auto.offset.reset": "latest"}, position("t", 0, 4))
    assert "would go on at the end of its topics" in told


def test_a_topic_that_cannot_be_asked_is_told(lines: Any) -> None:
    first, second = lines(SINK, position("gone", 0, 4))
    assert first.startswith("how many records it would read again is not known: ")
    assert "twice" in second


def test_a_source_has_positions_of_its_own(lines: Any) -> None:
    (told,) = lines({}, {"partition": {"file": "x"}, "offset": {"position": 3}})
    assert told == "it would read its source from the beginning again"
