"""A real PostgreSQL through Debezium: rows that are found by another column than the primary key, and a truncate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyiceberg.exceptions import NoSuchTableError

from frazil.cli.verbs.demo_cdc import connectors
from frazil.clients import catalog as catalogs
from frazil.environment.settings import Settings
from tests.acceptance.test_kill_cdc import debezium
from tests.acceptance.test_snapshot import deployed
from tests.waits import eventually

pytestmark = pytest.mark.spark

TOPIC, TABLE = "shop.public.users", "shop.users"


@pytest.fixture
def users(tmp_path: Path) -> Iterator[Settings]:
    """A table of users in PostgreSQL, whose rows the table `shop.users` finds by `email`."""
    with debezium(tmp_path) as settings:
        with psycopg.connect(**settings.postgres_access()) as connection:
            connection.execute("CREATE TABLE users (id int PRIMARY KEY, email text NOT NULL, note text)")
            connection.execute("ALTER TABLE users REPLICA IDENTITY FULL")
        deployed(settings, configs(settings), partitions=1)
        yield settings


def configs(settings: Settings) -> dict[str, dict[str, str]]:
    demo = connectors(settings)
    source = {**demo["shop-source"], "table.include.list": "public.users", "skipped.operations": "none"}
    sink = {
        key: value for key, value in demo["shop-tables"].items() if not key.startswith(("transforms", "frazil.tables"))
    }
    sink |= {"topics": TOPIC, "iceberg.tables": TABLE, "iceberg.tables.default-id-columns": "email"}
    return {"users-source": source, "users-tables": sink}


def stored(settings: Settings) -> dict[str, Any]:
    try:
        table = catalogs.connect(settings.catalog_properties()).load_table(TABLE)
    except NoSuchTableError:
        return {}
    rows = table.scan().to_arrow().to_pylist()
    assert len({row["email"] for row in rows}) == len(rows)
    return {row["email"]: (row["id"], row["note"]) for row in rows}


@pytest.mark.timeout(600)
def test_no_row_is_left_under_a_former_key_or_behind_a_truncate(users: Settings) -> None:
    long = "x" * 20_000
    with psycopg.connect(**users.postgres_access(), autocommit=True) as connection:
        connection.execute("INSERT INTO users VALUES (1, 'a', %s), (2, 'b', NULL), (3, 'c', 'n')", [long])
        eventually(lambda: stored(users).keys() == {"a", "b", "c"})
        connection.execute("UPDATE users SET email = email || '2' WHERE id < 3")
        connection.execute("DELETE FROM users WHERE id = 3")
        eventually(lambda: stored(users) == {"a2": (1, long), "b2": (2, None)})
        connection.execute("TRUNCATE users; INSERT INTO users VALUES (4, 'd', 'new')")
        eventually(lambda: stored(users) == {"d": (4, "new")})
