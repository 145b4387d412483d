"""Events that say that a table was truncated in the database."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.errors import BadRecord
from tests.connectors.iceberg.driver import Driver, Memory
from tests.connectors.iceberg.test_cdc_format import FORMAT, TABLE, event, read, send, state
from tests.connectors.iceberg.test_new_record_state import UNWRAP

DEBEZIUM = {**UNWRAP, "transforms.unwrap.type": "io.tabular.iceberg.connect.transforms.DebeziumTransform"}
KEYS = {"key.converter": "org.apache.kafka.connect.json.JsonConverter", "key.converter.schemas.enable": "false"}


def truncate(lsn: int, **more: Any) -> bytes:
    return json.dumps({**json.loads(event("t", 0, lsn, **more)), "after": None}).encode()


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("config", [FORMAT, UNWRAP, {**DEBEZIUM, **KEYS}])
def test_the_rows_before_it_go_and_those_behind_it_stay(
    none: Memory, config: dict[str, str], each: bool, mode: str
) -> None:
    driver = Driver(*none, {**config, "iceberg.tables.auto-create-props.write.merge.mode": mode})
    events = [
        truncate(90),
        *(read(1, 100, name="ann"), read(2, 100, name="bob"), event("u", 1, 110, commit=105, name="anna")),
        *(truncate(120, commit=115), event("c", 2, 130, commit=125, name="new"), truncate(140, commit=135)),
        *(truncate(150, commit=145), event("c", 3, 160, commit=155, name="cid")),
        event("u", 3, 170, commit=165, name="cyd"),
    ]
    for several in [[one] for one in events] if each else [events]:
        send(none, *several)
        driver.drain()
    assert state(driver) == {3: "cyd"}
    assert sum(report.read for report in driver.reports) == len(events)
    driver.restart()
    send(none, event("c", 4, 180, commit=175, name="dan"), truncate(190, commit=185))
    driver.drain()
    assert state(driver) == {}


def test_one_that_comes_again_changes_nothing(none: Memory) -> None:
    driver = Driver(*none, FORMAT)
    history = [read(1, 100, name="ann"), truncate(120, commit=110), event("c", 2, 130, commit=125, name="bob")]
    send(none, *history)
    driver.drain()
    send(none, *history[1:])
    driver.drain()
    assert state(driver) == {2: "bob"}
    assert driver.reports[-1].skipped_by_reason == {"replayed": 1}


@pytest.mark.parametrize("config", [{"topics": "t,u"}, {}, {"iceberg.tables.route-field": "to"}])
def test_one_whose_place_is_not_known_is_refused(none: Memory, config: dict[str, str]) -> None:
    none[0].make("u")
    if not config:
        none[0].make("t", 2)
    routed = {f"iceberg.table.{TABLE}.route-regex": ".*"} if len(config) and "topics" not in config else {}
    driver = Driver(*none, {**FORMAT, **config, **routed})
    send(none, truncate(120, commit=110))
    with pytest.raises(BadRecord, match="was truncated in the database, which is carried out where all records"):
        driver.drain()


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_record_that_looks_like_its_outcome_empties_nothing_that_an_event_may_not(
    none: Memory, partitions: int
) -> None:
    none[0].make("t", partitions)
    driver = Driver(*none, {**UNWRAP, "errors.tolerance": "all"})
    send(none, read(1, 100, name="ann"))
    driver.drain()
    send(none, b'{"_cdc":{"op":"T"},"id":2,"name":"bob"}')
    driver.drain()
    assert (1 in state(driver)) == (partitions == 2)
