"""A real PostgreSQL through Debezium: its snapshot is interrupted, its slot dropped, its standby takes its place."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from frazil.cdc.shop import TABLES
from frazil.cli.verbs.demo_cdc import connectors
from frazil.cli.verbs.verify_database import compared
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka.offsets import end_offsets
from frazil.clients.postgres import Slot, replication_slot
from frazil.environment.settings import Settings
from frazil.stack.connect import sources_service
from frazil.stack.postgres import _programs, data_folder, postgres_service
from tests.acceptance.capture import SINK, SOURCE, debezium, deployed, equal, following, kill, only
from tests.acceptance.test_kill_cdc import Traffic, differences
from tests.acceptance.test_snapshot import fill
from tests.isolation import isolated_settings
from tests.waits import eventually

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.timeout(900)]

_ROWS = 200_000
_SYNCHRONISED = "SELECT synced AND NOT temporary FROM pg_replication_slots WHERE slot_name = 'moved'"


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A stack with PostgreSQL and Debezium."""
    with debezium(tmp_path_factory.mktemp("faults")) as settings:
        yield settings


@contextmanager
def standby(primary: Settings, home: Path) -> Iterator[Settings]:
    """A PostgreSQL that follows another one and knows its slots; in the end the other one runs again."""
    access = primary.postgres_access()
    settings = isolated_settings(home, AWS_RDS_PASSWORD=str(access["password"]))
    data = data_folder(settings)
    conninfo = " ".join(f"{name}={value}" for name, value in access.items())
    command = [str(_programs() / "pg_basebackup"), *f"-R -C -S standby -c fast -D {data} -d".split(), conninfo]
    subprocess.run(command, check=True)
    with (data / "postgresql.auto.conf").open("a") as file:
        file.write("hot_standby_feedback = on\nsync_replication_slots = on\nsynchronized_standby_slots = ''\n")
    owner = data_folder(primary).stat()
    for path in (data, *data.rglob("*")):
        shutil.chown(path, owner.st_uid, owner.st_gid)
    with psycopg.connect(**access, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronized_standby_slots = 'standby'")
        connection.execute("SELECT pg_reload_conf()")
    service = postgres_service(settings)
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("frazil.stack.postgres._make_database", lambda settings: None)  # it takes no commands yet
            service.start(lambda text: None)
        yield settings
    finally:
        service.stop()
        shutil.rmtree(data)
        postgres_service(primary).start(lambda text: None)


def test_what_a_snapshot_that_was_interrupted_leaves_is_told_and_deleted(chain: Settings) -> None:
    wanted = connectors(chain)
    wanted = {name: wanted[name] for name in (SOURCE, SINK)}
    fill(chain, _ROWS)
    topic = "shop.public.items"

    def captured() -> int:
        return sum(end_offsets(chain.bootstrap_servers, [topic]).values())

    traffic = Traffic(chain)
    traffic.start()
    try:
        deployed(chain, wanted)
        for share in (0.02, 0.2, 0.4):
            before = captured()
            eventually(lambda before=before, share=share: captured() > before + share * _ROWS)  # type: ignore[misc]
            assert captured() < before + _ROWS
            kill(sources_service(chain, {}))
        before = traffic.transactions
        eventually(lambda: traffic.transactions > before + 200)
        verified = delete_surplus(chain, SINK)  # while all of it works
        assert "Traceback" not in verified.stderr
    finally:
        traffic.stop()
    sinks = {SINK: wanted[SINK]}

    def brought() -> bool:
        found = compared(chain, sinks, chain.postgres_access(), lambda text: None)
        return len(found) == len(TABLES) and not any(one.missing or one.other or one.doubled for one in found)

    eventually(brought)
    with ConnectClient(chain.connect_access) as client:
        assert len(events(client, SINK)) > 0
    assert delete_surplus(chain, SINK).returncode == 0
    assert differences(chain) == {}


def test_a_standby_that_takes_the_place_of_its_primary_is_followed_on(chain: Settings, tmp_path: Path) -> None:
    wanted = following(chain, "moved", **{"slot.failover": "true"})
    source = wanted["moved-source"]
    with standby(chain, tmp_path) as other:
        with psycopg.connect(**chain.postgres_access(), autocommit=True) as database:
            database.execute("CREATE TABLE moved (id int PRIMARY KEY, note text)")
            database.execute("INSERT INTO moved SELECT g, 'old' FROM generate_series(1, 1000) g")
            deployed(chain, wanted)
            eventually(lambda: equal(chain, wanted))

            def synchronised() -> bool:
                database.execute("UPDATE moved SET note = note || '.' WHERE id <= 100")
                with psycopg.connect(**other.postgres_access()) as follower:
                    return follower.execute(_SYNCHRONISED).fetchone() == (True,)

            eventually(synchronised)
        kill(postgres_service(chain))
        with psycopg.connect(**other.postgres_access(), autocommit=True) as database:
            database.execute("SELECT pg_promote()")
            database.execute("DELETE FROM moved WHERE id > 900")
            database.execute("UPDATE moved SET note = 'new' WHERE id > 800")
        with ConnectClient(chain.connect_access) as client:
            client.put_config("moved-source", source | {"database.port": str(other.postgres_port)})
        eventually(lambda: equal(chain, wanted, other.postgres_access()))


def test_a_slot_that_was_dropped_is_told_and_what_a_new_snapshot_does_not_bring_is_deleted(chain: Settings) -> None:
    access, wanted = chain.postgres_access(), following(chain, "dropped")
    source = wanted["dropped-source"]
    with psycopg.connect(**access, autocommit=True) as database, ConnectClient(chain.connect_access) as client:
        database.execute("CREATE TABLE dropped (id int PRIMARY KEY, note text)")
        database.execute("INSERT INTO dropped VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        deployed(chain, wanted)
        eventually(lambda: equal(chain, wanted))
        database.execute("INSERT INTO dropped VALUES (4, 'd')")
        eventually(lambda: equal(chain, wanted))
        client.stop("dropped-source")
        eventually(lambda: not slot_of(access, "dropped").active)
        database.execute("SELECT pg_drop_replication_slot('dropped')")
        database.execute("UPDATE dropped SET note = 'x' WHERE id = 1")
        database.execute("DELETE FROM dropped WHERE id = 2")
        client.resume("dropped-source")
        eventually(lambda: "With snapshot.mode=when_needed" in trace_of(client, "dropped-source"))
        assert events(client, "dropped-table") == []

        client.put_config("dropped-source", source | {"snapshot.mode": "when_needed"})
        eventually(lambda: [row["id"] for row in only(chain, wanted).surplus] == [2])
        eventually(lambda: not only(chain, wanted).other)
        assert only(chain, wanted).missing == []
        assert len(events(client, "dropped-table")) > 0
        assert delete_surplus(chain, "dropped-table").returncode == 0
        assert equal(chain, wanted)


def delete_surplus(settings: Settings, connector: str) -> subprocess.CompletedProcess[str]:
    """Run the verb, as a program of its own."""
    command = [str(Path(sys.executable).with_name("frazil")), "verify", connector, "--against", "postgres://"]
    options = ["--delete-surplus", "--yes"]
    return subprocess.run([*command, *options], env=settings.env, capture_output=True, text=True, check=False)


def slot_of(access: Mapping[str, Any], name: str) -> Slot:
    slot = replication_slot(access, name)
    assert slot is not None
    return slot


def trace_of(client: ConnectClient, name: str) -> str:
    return "".join(task.get("trace", "") for task in client.status(name)["tasks"])


def events(client: ConnectClient, name: str) -> list[dict[str, Any]]:
    """Events about snapshots that were taken again."""
    return [one for one in client.events(name, 100) if one["kind"] == "table read anew"]
