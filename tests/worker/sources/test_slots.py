from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from frazil.clients.postgres import Slot
from frazil.errors import ConfigError, ServiceUnavailable
from frazil.worker.sources.slots import Slots
from frazil.worker.watch.metrics import Metrics

POSTGRES = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.hostname": "db",
    "database.port": "5432",
    "database.user": "ann",
    "database.password": "${file:p}",
    "database.dbname": "shop",
    "slot.name": "own",
}
SLOT = Slot(True, False, "0/15", 100, 2000)


def resolved(config: Mapping[str, str]) -> Mapping[str, str]:
    if "wrong" in config:
        raise ConfigError("no such file")
    return {**config, "database.password": "secret"}


def test_slots_of_connectors_for_postgres_are_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[tuple[Any, str]] = []

    def look(access: Mapping[str, object], name: str, timeout_s: int) -> Slot | None:
        asked.append((dict(access), name))
        if access["host"] == "away":
            raise ServiceUnavailable("no answer")
        return SLOT

    configs = {
        "a": POSTGRES,
        "b": {**POSTGRES, "database.hostname": "away", "slot.name": ""},
        "c": {"connector.class": "io.debezium.connector.mysql.MySqlConnector"},
        "d": {**POSTGRES, "wrong": "x"},
    }
    slots = Slots(lambda: configs, resolved, look)
    assert slots.seen == {}
    slots.look()
    assert slots.seen == {("a", "own"): SLOT, ("b", "debezium"): None, ("d", "own"): None}
    access = {"host": "db", "port": "5432", "user": "ann", "password": "secret", "dbname": "shop"}
    assert asked[:2] == [(access, "own"), ({**access, "host": "away"}, "debezium")]
    assert "the slot debezium of connector b is not known: no answer" in caplog.text
    assert "secret" not in caplog.text
    caplog.clear()
    slots.look()
    assert caplog.text == "", "it was told before"
    del configs["a"]
    slots.look()
    assert ("a", "own") not in slots.seen


def test_metrics_tell_of_slots() -> None:
    seen = {
        ("a", "own"): SLOT,
        ("b", "debezium"): None,
        ("c", "new"): Slot(False, True, None, None, None),
    }
    text = Metrics(dict, dict, slots=lambda: seen).exposition()[0].decode()
    lines = [line for line in text.splitlines() if line.startswith("frazil_source_slot_")]
    assert lines == [
        'frazil_source_slot_known{connector="a",slot="own"} 1.0',
        'frazil_source_slot_known{connector="b",slot="debezium"} 0.0',
        'frazil_source_slot_known{connector="c",slot="new"} 1.0',
        'frazil_source_slot_lost{connector="a",slot="own"} 0.0',
        'frazil_source_slot_lost{connector="c",slot="new"} 1.0',
        'frazil_source_slot_behind_bytes{connector="a",slot="own"} 100.0',
        'frazil_source_slot_kept_bytes{connector="a",slot="own"} 2000.0',
    ]
