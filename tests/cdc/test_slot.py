"""The replication slot of a real PostgreSQL, as metrics and `describe` tell it."""

from __future__ import annotations

import psycopg
import pytest

from frazil.cli.connect.get import slot_rows
from frazil.clients.postgres import Slot, replication_slot
from frazil.connectors.debezium_slot import slot_text
from frazil.environment.settings import Settings

_KEYS = {"host": "hostname", "port": "port", "user": "user", "password": "password", "dbname": "dbname"}


def config_of(settings: Settings, slot: str) -> dict[str, str]:
    access = settings.postgres_access()
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        **{f"database.{key}": str(access[name]) for name, key in _KEYS.items()},
        "slot.name": slot,
    }


@pytest.mark.stack
def test_a_slot_that_nobody_reads_falls_behind(postgres: Settings) -> None:
    access = postgres.postgres_access()
    assert replication_slot(access, "none") is None
    assert slot_rows(config_of(postgres, "none")) == [("slot", "none: not there")]
    with psycopg.connect(**access, autocommit=True) as connection:
        connection.execute("SELECT pg_create_logical_replication_slot('behind', 'pgoutput')")
        before = replication_slot(access, "behind")
        assert before is not None and before.behind_bytes is not None and before.kept_bytes is not None
        assert (before.active, before.lost) == (False, False)
        connection.execute("CREATE TABLE noise AS SELECT repeat('x', 1000) FROM generate_series(1, 3000)")
        after = replication_slot(access, "behind")
        assert after is not None and after.behind_bytes is not None and after.kept_bytes is not None
        assert after.behind_bytes > before.behind_bytes + 1_000_000
        assert after.kept_bytes >= after.behind_bytes
        ((what, told),) = slot_rows(config_of(postgres, "behind"))
        assert what == "slot" and told.startswith("behind: nobody reads it, ")
        assert f"read up to {after.confirmed}" in told
        connection.execute("SELECT pg_drop_replication_slot('behind')")


@pytest.mark.stack
def test_a_refused_login_is_told_without_the_password(postgres: Settings) -> None:
    ((_, told),) = slot_rows({**config_of(postgres, "s"), "database.password": "guess-me"})
    assert told.startswith("s: not known, the database does not let us in: ")
    assert "guess-me" not in told


def test_other_connectors_and_access_that_only_the_worker_knows_have_no_row() -> None:
    assert slot_rows({"connector.class": "io.debezium.connector.mysql.MySqlConnector"}) == []
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.password": "${file:/p:pw}",
    }
    assert slot_rows(config) == []


@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        (Slot(True, False, "0/15", 1 << 20, 3 << 20), "active, 1.0 MiB behind, 3.0 MiB of log kept, read up to 0/15"),
        (Slot(False, False, None, None, None), "nobody reads it"),
        (Slot(False, True, None, None, None), "lost, since PostgreSQL has removed log that was not read"),
    ],
)
def test_what_is_shown_of_a_slot(slot: Slot, expected: str) -> None:
    assert slot_text(slot).startswith(expected)
