"""A snapshot of a real PostgreSQL that Debezium's changes go on from: values to the letter, and kills on the way."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from frazil.cdc.shop import TABLES, Shop
from frazil.cli.verbs.demo_cdc import connectors
from frazil.cli.verbs.verify_database import compared
from frazil.clients import catalog as catalogs
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from tests.acceptance.test_kill_cdc import (
    SINK,
    SOURCE,
    Traffic,
    again,
    debezium,
    differences,
    kill,
    runs,
    services,
    took,
)
from tests.cdc.kinds import FROM_RECORDS, KINDS, LATE, MODES, make_kinds, make_others
from tests.waits import eventually

pytestmark = pytest.mark.spark

_KILLS = 6
_ROWS = 200_000


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A stack with PostgreSQL and Debezium."""
    with debezium(tmp_path_factory.mktemp("snapshot")) as settings:
        yield settings


def configs(settings: Settings, **more: str) -> dict[str, dict[str, str]]:
    """The connectors of the shop, with a source that takes no snapshot of its own."""
    demo = connectors(settings)
    return {SOURCE: demo[SOURCE] | {"snapshot.mode": "no_data", **more}, SINK: demo[SINK]}


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


def deployed(settings: Settings, wanted: Mapping[str, dict[str, str]], partitions: int = 3) -> None:
    """Topics, and connectors that run."""
    topics = next(config["topics"] for config in wanted.values() if "topics" in config)
    kafka_topics.ensure_topics(settings.bootstrap_servers, {name: (partitions, {}) for name in topics.split(",")})
    with ConnectClient(settings.connect_access) as client:
        for name, config in wanted.items():
            eventually(lambda name=name, config=config: took(client, name, config))  # type: ignore[misc]
            eventually(lambda name=name: runs(client, name))  # type: ignore[misc]


def rows_of(settings: Settings, name: str) -> pa.Table:
    return catalogs.connect(settings.catalog_properties()).load_table(name).scan().to_arrow().sort_by("id")


@pytest.mark.timeout(600)
def test_rows_and_columns_are_those_that_changes_bring(chain: Settings, tmp_path: Path) -> None:
    with psycopg.connect(**chain.postgres_access(), autocommit=True) as connection:
        make_kinds(connection)
        for mode, keys in MODES.items():
            demo = configs(chain)
            topic = f"{mode}.public.kinds"
            own = {"topic.prefix": mode, "table.include.list": "public.kinds", "slot.name": mode}
            own |= {"publication.name": mode, "column.exclude.list": "public.kinds.excluded", **keys}
            sink = {key: value for key, value in demo[SINK].items() if not key.startswith(("transforms", "frazil.t"))}
            wanted = {f"{mode}-source": demo[SOURCE] | own}
            wanted |= {f"{mode}-table": sink | {"topics": topic, "iceberg.tables": f"kinds.{mode}"}}
            verb = begun(chain, tmp_path, wanted)
            told, errors = verb.communicate()
            assert verb.returncode == 0, errors
            assert [(one["rows"], one["target"]) for one in json.loads(told)] == [(3, f"kinds.{mode}")]
            deployed(chain, wanted)
        before = {mode: rows_of(chain, f"kinds.{mode}") for mode in MODES}
        connection.execute("UPDATE kinds SET touched = 1")
    for mode, taken in before.items():
        eventually(lambda mode=mode: rows_of(chain, f"kinds.{mode}")["touched"].to_pylist() == [1, 1, 1])  # type: ignore[misc]
        changed = rows_of(chain, f"kinds.{mode}")
        assert changed.schema == taken.schema
        assert {"id", "touched", *KINDS} - set(taken.column_names) == set(LATE if mode == "third" else ())
        for name in set(taken.column_names) - {"touched"}:
            assert taken[name].to_string() == changed[name].to_string(), (mode, name)


@pytest.mark.timeout(600)
def test_types_that_a_snapshot_refuses_come_from_records(chain: Settings) -> None:
    demo = connectors(chain)
    with psycopg.connect(**chain.postgres_access(), autocommit=True) as connection:
        make_others(connection)
        own = {"topic.prefix": "o", "table.include.list": "public.others", "slot.name": "o", "publication.name": "o"}
        sink = {key: value for key, value in demo[SINK].items() if not key.startswith(("transforms", "frazil.t"))}
        sink |= {"topics": "o.public.others", "iceberg.tables": "kinds.others"}
        deployed(chain, {"others-source": demo[SOURCE] | own, "others-table": sink})

        def same() -> bool:
            with suppress(FrazilError):
                found = compared(chain, {"others-table": sink}, chain.postgres_access(), lambda text: None)
                return bool(found) and found[0].equal
            return False

        eventually(same)
        connection.execute("UPDATE others SET id = id + 10")
        eventually(same)
    fields = struct_of(catalogs.connect(chain.catalog_properties()).load_table("kinds.others").schema()).fields
    assert {each.name: str(each.type) for each in fields if each.name != "id"} == {
        name: kind[2] for name, kind in FROM_RECORDS.items()
    }


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_kills_of_all_parts_during_a_snapshot_leave_each_row_once(chain: Settings, tmp_path: Path) -> None:
    chance = random.Random(16)
    fill(chain, _ROWS)
    wanted = configs(chain)
    victims = [service for service in services(chain) if service.name in ("postgres", "seaweedfs")]
    assert len(victims) == 2
    traffic = Traffic(chain)
    traffic.start()
    try:
        for number in range(_KILLS):
            verb = begun(chain, tmp_path, wanted)
            time.sleep(1.5 + 3 * chance.random())
            if number < len(victims):
                kill(victims[number])
                eventually(lambda number=number: again(victims[number]))  # type: ignore[misc]
            else:
                verb.kill()
            _, errors = verb.communicate()
            assert "Traceback" not in errors
        verb = begun(chain, tmp_path, wanted)
        told, errors = verb.communicate()
        assert verb.returncode == 0, errors
        assert [one["source"] for one in json.loads(told)] == sorted(f"public.{table}" for table in TABLES)
        deployed(chain, wanted)
        before = traffic.transactions
        eventually(lambda: traffic.transactions > before + 20)
    finally:
        traffic.stop()
    eventually(lambda: not differences(chain))
