"""A real PostgreSQL through Debezium into a table of changes and one of versions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyiceberg.exceptions import NoSuchTableError

from frazil.clients import catalog as catalogs
from frazil.environment.settings import Settings
from tests.acceptance.test_cdc_rows import configs
from tests.acceptance.test_kill_cdc import debezium
from tests.acceptance.test_snapshot import deployed
from tests.waits import eventually

pytestmark = pytest.mark.spark

LOG, HISTORY = "shop.users_log", "shop.users_history"
LONG = "x" * 20_000
"""A text that is not sent when it has not changed."""


@pytest.fixture
def users(tmp_path: Path) -> Iterator[Settings]:
    """A table of users in PostgreSQL with three rows, which Debezium reads as they are at first."""
    with debezium(tmp_path) as settings:
        with psycopg.connect(**settings.postgres_access()) as connection:
            connection.execute("CREATE TABLE users (id int PRIMARY KEY, name text, note text)")
            connection.execute("INSERT INTO users VALUES (1, 'user', %s), (2, 'user', 'n'), (3, 'user', NULL)", [LONG])
        wanted = configs(settings)
        del wanted["users-source"]["skipped.operations"], wanted["users-tables"]["iceberg.tables.default-id-columns"]
        modes = {"frazil.cdc.mode": "history", f"iceberg.table.{LOG}.cdc-mode": "append"}
        wanted["users-tables"] |= {"iceberg.tables": f"{LOG},{HISTORY}", **modes}
        deployed(settings, wanted)
        yield settings


def rows(settings: Settings, name: str) -> list[dict[str, Any]]:
    try:
        table = catalogs.connect(settings.catalog_properties()).load_table(name)
    except NoSuchTableError:
        return []
    found: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["id"], row["_position"]))


def told(settings: Settings, name: str) -> dict[int, list[tuple[str, str | None]]]:
    """Operation and name of the changes or versions of each row, each of them once."""
    found: dict[int, list[tuple[str, str | None]]] = {}
    stored = rows(settings, name)
    assert len({(row["id"], row["_position"]) for row in stored}) == len(stored)
    for row in stored:
        found.setdefault(row["id"], []).append((row["_op"], row["name"]))
    return found


@pytest.mark.timeout(600)
def test_each_change_is_kept_once_in_its_order(users: Settings) -> None:
    expected = {number: [("R", "user")] for number in (1, 2, 3)}
    eventually(lambda: told(users, HISTORY) == expected)
    with psycopg.connect(**users.postgres_access(), autocommit=True) as connection:
        for round_ in range(3):
            with connection.transaction():
                connection.execute("UPDATE users SET name = 'once' WHERE id = 1")
                connection.execute("UPDATE users SET name = 'twice' WHERE id = 1")
            connection.execute("DELETE FROM users WHERE id = 2")
            connection.execute("INSERT INTO users VALUES (2, %s)", [f"new {round_}"])
            connection.execute("UPDATE users SET id = %s WHERE id = %s", [4 + round_, 3 + round_])
        twice = [("U", "once"), ("U", "twice")] * 3
        versions = {
            1: [("R", "user"), *twice],
            2: [("R", "user"), *(("I", f"new {round_}") for round_ in range(3))],
            **{number: [("R" if number == 3 else "I", "user")] for number in (3, 4, 5, 6)},
        }
        eventually(lambda: told(users, HISTORY) == versions)
        changes = {**versions, 2: [versions[2][0], *(one for new in versions[2][1:] for one in (("D", None), new))]}
        changes |= {number: [*versions[number], ("D", None)] for number in (3, 4, 5)}
        eventually(lambda: told(users, LOG) == changes)
        database = connection.execute("SELECT id, name, note FROM users ORDER BY id").fetchall()
    stored = rows(users, HISTORY)
    assert [(row["id"], row["name"], row["note"]) for row in stored if row["_current"]] == database
    for one, next_ in pairwise(row for row in stored if row["id"] == 1):
        assert one["_valid_from"] <= one["_valid_to"] == next_["_valid_from"]
    assert all(row["_valid_to"] is not None and row["_delete_position"] for row in stored if row["id"] in (3, 4, 5))
