from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connectors.iceberg.position.control import Written, written_files
from frazil.errors import TerminalError
from tests.connectors.iceberg.control_events import data_complete, data_written, data_written_before_0_6


def test_files_that_a_task_has_announced() -> None:
    value = data_written("connect-a", "a.b.c", 3, 4, deletes=(2,))
    assert written_files(value, 1, 7) == Written("connect-a", "a.b.c", files=3, rows=9, partition=1, offset=7)
    old = data_written_before_0_6("cg-control-a", "db.t", 5)
    assert written_files(old, 0, 0) == Written("cg-control-a", "db.t", files=1, rows=5, partition=0, offset=0)


def test_an_event_of_kafka_connect_itself() -> None:
    """Written by Apache's sink 1.12.0."""
    value = Path(__file__).with_name("data_written.bin").read_bytes()
    name = "test_x21_x22_there_and_back_and_there_again"
    expected = Written(f"connect-sink-{name}", f"acceptance.{name}", files=6, rows=10, partition=0, offset=3)
    assert written_files(value, 0, 3) == expected


@pytest.mark.parametrize("value", [data_complete("connect-a"), b"", b"\xc2", b'{"type": 1}'], ids=str)
def test_other_events_and_what_is_no_event_name_none(value: bytes) -> None:
    assert written_files(value, 0, 0) is None


def test_an_event_that_cannot_be_read_is_told() -> None:
    cut = data_written("connect-a", "db.t", 3)[:-4]
    with pytest.raises(TerminalError, match="the event at offset 9 of partition 2 of the control topic"):
        written_files(cut, 2, 9)
