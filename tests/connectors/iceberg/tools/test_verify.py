"""Rows of tables compared with the records that they are made of."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, ListType, LongType, NestedField, StringType, StructType

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import read_ranges
from frazil.connectors.checks.compare import Part
from frazil.connectors.checks.result import RangeCheck
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.iceberg.table.commit import Commit, TableBranch
from frazil.connectors.iceberg.tools.replayed import DEADLETTERS
from frazil.connectors.iceberg.tools.verify import TableCheck, table_floor
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import NotFound
from frazil.pipeline.rows import rows_of
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable
from tests.harness import send

pytestmark = pytest.mark.stack

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "x", DoubleType()),
    NestedField(3, "s", StructType(NestedField(4, "a", StringType()))),
    NestedField(5, "l", ListType(6, LongType(), element_required=False)),
    NestedField(7, "r", ListType(8, StructType(NestedField(9, "b", LongType())), element_required=False)),
)


class Case:
    """A topic with records, and a table with rows that stand behind them."""

    def __init__(self, stack: LocalStack, table: Table, records: Sequence[bytes | None]) -> None:
        self.bootstrap = stack.settings.bootstrap_servers
        self.topic = f"verify-{uuid.uuid4().hex[:8]}"
        self.table = table
        self.name = ".".join(table.name())
        kafka_topics.ensure_topics(self.bootstrap, {self.topic: (1, {})})
        send(self.bootstrap, self.topic, records, partition=0)
        self.end = {(self.topic, 0): len(records)}
        self.keys = {
            "name": self.topic,
            "connector.class": "IcebergSink",
            "topics": self.topic,
            "iceberg.tables": self.name,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            **{f"iceberg.catalog.{key}": value for key, value in stack.settings.catalog_properties().items()},
        }

    def append(self, *rows: Mapping[str, Any], summary: Mapping[str, str] | None = None) -> None:
        arrow = self.table.refresh().schema().as_arrow()
        self.table.append(pa.Table.from_pylist([dict(row) for row in rows], schema=arrow), dict(summary or {}))

    def check(self, dead: Sequence[int] = (), begin: int = 0) -> RangeCheck:
        config = iceberg_sink_config(self.keys)
        lost = {(self.topic, 0, offset) for offset in dead}
        part = Part({(self.topic, 0): begin}, self.end, frozenset(lost))
        check = TableCheck(config, part)
        for records in read_ranges(self.bootstrap, part.begin, part.end):
            check.take(rows_of(records))
        (found,) = check.finish(lambda what, done, total: None)
        return found


RECORDS = [b'{"id":0,"x":1}', b'{"id":1,"s":{"a":"b"}}', b'{"id":2,"l":[1,null]}', None, b'{"id":4,"unknown":1}']
ROWS: list[dict[str, Any]] = [{"id": 0, "x": 1.0}, {"id": 1, "s": {"a": "b"}}, {"id": 2, "l": [1, None]}, {"id": 4}]


@pytest.fixture
def case(stack: LocalStack, make_table: MakeTable) -> Case:
    made = Case(stack, make_table(SCHEMA), RECORDS)
    made.append(*ROWS)
    return made


def test_all_rows_are_there(case: Case) -> None:
    found = case.check()
    assert (found.read, found.expected, found.stored, found.skipped, found.complete) == (5, 4, 4, 1, True), found
    assert found.expected_sum == found.stored_sum


def test_rows_that_are_lost_twice_or_others(case: Case) -> None:
    case.table.delete("id = 1")
    case.append(ROWS[0], {"id": 0, "x": 2.0})
    found = case.check()
    assert (found.missing, found.doubled, found.foreign, found.stored) == ([1], [0], 1, 3)
    assert found.expected_sum != found.stored_sum


def test_dead_letters_may_be_rows(case: Case) -> None:
    assert case.check(dead=[0]).complete
    case.table.delete("id = 0")
    found = case.check(dead=[0])
    assert (found.complete, found.dead, found.stored) == (True, 1, 3)


def test_rows_that_a_replay_has_stored_under_another_configuration(case: Case) -> None:
    case.table.delete("id = 0")
    case.append({"id": 99}, summary={DEADLETTERS: "{}"})
    found = case.check(dead=[0])
    assert (found.complete, found.dead, found.stored, found.foreign) == (True, 0, 4, 0)
    assert found.expected_sum == found.stored_sum
    assert f"1 row of {case.name}, stored by a replay of dead letters, differs" in found.notes[0]
    case.append({"id": 98})
    found = case.check(dead=[0])
    assert (found.complete, found.foreign) == (False, 1)


def test_a_record_without_row_and_dead_letter(stack: LocalStack, make_table: MakeTable) -> None:
    case = Case(stack, make_table(SCHEMA), [b'{"id":0}', b'{"id":"x"}'])
    case.append({"id": 0})
    found = case.check()
    assert (found.missing, found.complete) == ([1], False)
    assert "there is no dead letter for it" in found.notes[0]


def test_rows_of_records_that_the_topic_has_not_any_more(case: Case) -> None:
    found = case.check(begin=1)
    assert (found.complete, found.unknown, found.stored) == (True, 1, 3)


def test_rows_that_kafka_connects_sink_has_stored_before_a_take_over(stack: LocalStack, make_table: MakeTable) -> None:
    case = Case(stack, make_table(SCHEMA), RECORDS)
    config = iceberg_sink_config(case.keys)
    case.append(*ROWS, summary={config.connect_sink.properties[-1]: '{"0":7}'})
    assert table_floor(config, case.bootstrap, case.end) == {}
    case.end = {(case.topic, 0): 0}
    found = case.check()
    assert (found.complete, found.foreign, found.unknown) == (True, 0, 4)
    assert "Kafka Connect's sink has stored were not compared" in found.notes[0]
    kafka_groups.set_group_offsets(case.bootstrap, config.group_id, {(case.topic, 0): 5})
    case.end = table_floor(config, case.bootstrap, case.end)
    found = case.check()
    assert (found.complete, found.stored, found.expected_sum == found.stored_sum) == (True, 4, True)


def test_the_floor(case: Case) -> None:
    target = TableBranch(case.table.catalog, case.name, "main")
    now = target.load()
    target.commit(now, target.floor(now, case.topic), Commit(case.topic, [], case.end, case.end, KafkaIdentity(), None))
    assert table_floor(iceberg_sink_config(case.keys), case.bootstrap, case.end) == case.end


@pytest.fixture
def absent(stack: LocalStack, make_table: MakeTable) -> Case:
    """A connector that makes its table when a record needs it, and whose table is not there."""
    case = Case(stack, make_table(SCHEMA), [*RECORDS, b"{}", b"no json"])
    case.name += "_absent"
    case.keys |= {"iceberg.tables": case.name, "iceberg.tables.auto-create-enabled": "true"}
    return case


def test_a_table_that_no_record_has_needed_is_none_that_is_missing(absent: Case) -> None:
    config = iceberg_sink_config(absent.keys)
    assert table_floor(config, absent.bootstrap, absent.end) == {}
    absent.end = {(absent.topic, 0): 0}
    found = absent.check()
    assert (found.complete, found.read, found.notes) == (
        True,
        0,
        [f"table {absent.name} does not exist; it is made when a record needs it"],
    )
    kafka_groups.set_group_offsets(absent.bootstrap, config.group_id, {(absent.topic, 0): 7})
    absent.end = table_floor(config, absent.bootstrap, absent.end)
    assert absent.end == {(absent.topic, 0): 7}
    found = absent.check(dead=[0, 1, 2, 4, 5, 6])
    assert (found.complete, found.read, found.dead, found.skipped) == (True, 7, 6, 1)


def test_rows_of_a_table_that_is_gone_are_missing(absent: Case) -> None:
    found = absent.check(dead=[5, 6])
    assert (found.missing, found.complete, found.skipped) == ([0, 1, 2, 4], False, 1)
    assert found.expected_sum != found.stored_sum
    found = absent.check(dead=[0, 1, 2, 4])
    assert found.missing == [5, 6]
    assert "there is no dead letter for it" in found.notes[-1]


def test_a_table_that_the_connector_does_not_make_has_to_be_there(absent: Case) -> None:
    absent.keys["iceberg.tables.auto-create-enabled"] = "false"
    with pytest.raises(NotFound, match="does not exist"):
        absent.check()
