"""A snapshot of a real PostgreSQL that Debezium's changes go on from: values to the letter, and kills on the way."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from frazil.cdc.shop import TABLES, Shop
from frazil.cli.verbs.demo_cdc import connectors
from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.environment.settings import Settings
from tests.acceptance.capture import SINK, SOURCE, again, debezium, deployed, equal, following, kill, services
from tests.acceptance.test_kill_cdc import Traffic, differences
from tests.cdc.kinds import FROM_RECORDS, KINDS, LATE, MODES, make_kinds, make_others
from tests.waits import eventually

pytestmark = pytest.mark.spark

_KILLS = 6
_ROWS = 200_000


def begun(settings: Settings, folder: Path, wanted: Mapping[str, Mapping[str, str]]) -> subprocess.Popen[str]:
    """The verb, as a program of its own, for a source and a sink."""
    files = []
    for name, config in wanted.items():
        files.append(str(folder / f"{name}.json"))
        Path(files[-1]).write_text(json.dumps({"name": name, "config": config}))
    command = [str(Path(sys.executable).with_name("frazil")), "snapshot", *files, "-o", "json"]
    return subprocess.Popen(command, env=settings.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fill(settings: Settings, items: int) -> None:
    """Make a shop with thirty customers and so many items of one order."""
    shop = Shop(settings.postgres_access())
    shop.fill(30)
    shop.close()
    with psycopg.connect(**settings.postgres_access(), autocommit=True) as connection:
        connection.execute(
            "INSERT INTO items SELECT 1000000 + g, 1, 'lamp' || g, g / 7.0 FROM generate_series(1, %s) g", [items]
        )


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Settings]:
    """A stack of its own with PostgreSQL and Debezium."""
    with debezium(tmp_path) as settings:
        yield settings


def rows_of(settings: Settings, name: str) -> pa.Table:
    return catalogs.connect(settings.catalog_properties()).load_table(name).scan().to_arrow().sort_by("id")


@pytest.mark.timeout(600)
def test_rows_and_columns_are_those_that_changes_bring(captured: Settings, tmp_path: Path) -> None:
    with psycopg.connect(**captured.postgres_access(), autocommit=True) as connection:
        make_kinds(connection)
        for mode, keys in MODES.items():
            own = {"table.include.list": "public.kinds", "column.exclude.list": "public.kinds.excluded"}
            wanted = following(captured, mode, **own | {"snapshot.mode": "no_data"} | keys)
            wanted[f"{mode}-table"]["topics"] = f"{mode}.public.kinds"
            verb = begun(captured, tmp_path, wanted)
            told, errors = verb.communicate()
            assert verb.returncode == 0, errors
            assert [(one["rows"], one["target"]) for one in json.loads(told)] == [(3, f"captured.{mode}")]
            deployed(captured, wanted)
        before = {mode: rows_of(captured, f"captured.{mode}") for mode in MODES}
        connection.execute("UPDATE kinds SET touched = 1")
    for mode, taken in before.items():
        eventually(lambda mode=mode: rows_of(captured, f"captured.{mode}")["touched"].to_pylist() == [1, 1, 1])  # type: ignore[misc]
        changed = rows_of(captured, f"captured.{mode}")
        assert changed.schema == taken.schema
        assert {"id", "touched", *KINDS} - set(taken.column_names) == set(LATE if mode == "third" else ())
        for name in set(taken.column_names) - {"touched"}:
            assert taken[name].to_string() == changed[name].to_string(), (mode, name)


@pytest.mark.timeout(600)
def test_types_that_a_snapshot_refuses_come_from_records(captured: Settings) -> None:
    with psycopg.connect(**captured.postgres_access(), autocommit=True) as connection:
        make_others(connection)
        wanted = following(captured, "others")
        deployed(captured, wanted)
        eventually(lambda: equal(captured, wanted))
        connection.execute("UPDATE others SET id = id + 10")
        eventually(lambda: equal(captured, wanted))
    loaded = catalogs.connect(captured.catalog_properties()).load_table("captured.others")
    fields = struct_of(loaded.schema()).fields
    assert {each.name: str(each.type) for each in fields if each.name != "id"} == {
        name: kind[2] for name, kind in FROM_RECORDS.items()
    }


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_kills_of_all_parts_during_a_snapshot_leave_each_row_once(shop: Settings, tmp_path: Path) -> None:
    chance = random.Random(16)
    fill(shop, _ROWS)
    demo = connectors(shop)
    wanted = {SOURCE: demo[SOURCE] | {"snapshot.mode": "no_data"}, SINK: demo[SINK]}
    victims = [service for service in services(shop) if service.name in ("postgres", "seaweedfs")]
    assert len(victims) == 2
    traffic = Traffic(shop)
    traffic.start()
    try:
        for number in range(_KILLS):
            verb = begun(shop, tmp_path, wanted)
            time.sleep(1.5 + 3 * chance.random())
            if number < len(victims):
                kill(victims[number])
                eventually(lambda number=number: again(victims[number]))  # type: ignore[misc]
            else:
                verb.kill()
            _, errors = verb.communicate()
            assert "Traceback" not in errors
        verb = begun(shop, tmp_path, wanted)
        told, errors = verb.communicate()
        assert verb.returncode == 0, errors
        assert [one["source"] for one in json.loads(told)] == sorted(f"public.{table}" for table in TABLES)
        deployed(shop, wanted)
        before = traffic.transactions
        eventually(lambda: traffic.transactions > before + 20)
    finally:
        traffic.stop()
    eventually(lambda: not differences(shop))
