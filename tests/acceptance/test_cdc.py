"""A real PostgreSQL through Debezium: each row once, each change, and each version."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import psycopg
import pytest
from pyiceberg.exceptions import NoSuchTableError

from frazil.clients import catalog as catalogs
from frazil.environment.settings import Settings
from tests.acceptance.capture import deployed, following
from tests.waits import eventually

pytestmark = pytest.mark.spark

ROWS = "captured.users"
LOG, HISTORY = "captured.members_log", "captured.members_history"
LONG = "x" * 20_000
"""A text that is not sent when it has not changed."""


@pytest.fixture
def members(captured: Settings) -> Settings:
    """A table in PostgreSQL with three rows, which Debezium reads as they are at first."""
    with psycopg.connect(**captured.postgres_access()) as connection:
        connection.execute("CREATE TABLE members (id int PRIMARY KEY, name text, note text)")
        connection.execute("INSERT INTO members VALUES (1, 'user', %s), (2, 'user', 'n'), (3, 'user', NULL)", [LONG])
    modes = {"frazil.cdc.mode": "history", f"iceberg.table.{LOG}.cdc-mode": "append"}
    wanted = following(captured, "members")
    wanted["members-table"] |= {"iceberg.tables": f"{LOG},{HISTORY}", **modes}
    deployed(captured, wanted)
    return captured


@pytest.fixture
def users(captured: Settings) -> Settings:
    """A table of users in PostgreSQL, whose rows the table `captured.users` finds by `email`."""
    with psycopg.connect(**captured.postgres_access()) as connection:
        connection.execute("CREATE TABLE users (id int PRIMARY KEY, email text NOT NULL, note text)")
        connection.execute("ALTER TABLE users REPLICA IDENTITY FULL")
    wanted = following(captured, "users", **{"skipped.operations": "none"})
    wanted["users-table"] |= {"iceberg.tables.default-id-columns": "email"}
    deployed(captured, wanted, partitions=1)
    return captured


def rows(settings: Settings, name: str) -> list[dict[str, Any]]:
    try:
        table = catalogs.connect(settings.catalog_properties()).load_table(name)
    except NoSuchTableError:
        return []
    found: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: (row["id"], row.get("_position", "")))


def told(settings: Settings, name: str) -> dict[int, list[tuple[str, str | None]]]:
    """Operation and name of the changes or versions of each row, each of them once."""
    found: dict[int, list[tuple[str, str | None]]] = {}
    stored = rows(settings, name)
    assert len({(row["id"], row["_position"]) for row in stored}) == len(stored)
    for row in stored:
        found.setdefault(row["id"], []).append((row["_op"], row["name"]))
    return found


def stored(settings: Settings) -> dict[str, Any]:
    found = rows(settings, ROWS)
    assert len({row["email"] for row in found}) == len(found)
    return {row["email"]: (row["id"], row["note"]) for row in found}


@pytest.mark.timeout(600)
def test_each_change_is_kept_once_in_its_order(members: Settings) -> None:
    expected = {number: [("R", "user")] for number in (1, 2, 3)}
    eventually(lambda: told(members, HISTORY) == expected)
    with psycopg.connect(**members.postgres_access(), autocommit=True) as connection:
        for round_ in range(3):
            with connection.transaction():
                connection.execute("UPDATE members SET name = 'once' WHERE id = 1")
                connection.execute("UPDATE members SET name = 'twice' WHERE id = 1")
            connection.execute("DELETE FROM members WHERE id = 2")
            connection.execute("INSERT INTO members VALUES (2, %s)", [f"new {round_}"])
            connection.execute("UPDATE members SET id = %s WHERE id = %s", [4 + round_, 3 + round_])
        twice = [("U", "once"), ("U", "twice")] * 3
        versions = {
            1: [("R", "user"), *twice],
            2: [("R", "user"), *(("I", f"new {round_}") for round_ in range(3))],
            **{number: [("R" if number == 3 else "I", "user")] for number in (3, 4, 5, 6)},
        }
        eventually(lambda: told(members, HISTORY) == versions)
        changes = {**versions, 2: [versions[2][0], *(one for new in versions[2][1:] for one in (("D", None), new))]}
        changes |= {number: [*versions[number], ("D", None)] for number in (3, 4, 5)}
        eventually(lambda: told(members, LOG) == changes)
        database = connection.execute("SELECT id, name, note FROM members ORDER BY id").fetchall()
    stored = rows(members, HISTORY)
    assert [(row["id"], row["name"], row["note"]) for row in stored if row["_current"]] == database
    for one, next_ in pairwise(row for row in stored if row["id"] == 1):
        assert one["_valid_from"] <= one["_valid_to"] == next_["_valid_from"]
    assert all(row["_valid_to"] is not None and row["_delete_position"] for row in stored if row["id"] in (3, 4, 5))


@pytest.mark.timeout(600)
def test_no_row_is_left_under_a_former_key_or_behind_a_truncate(users: Settings) -> None:
    with psycopg.connect(**users.postgres_access(), autocommit=True) as connection:
        connection.execute("INSERT INTO users VALUES (1, 'a', %s), (2, 'b', NULL), (3, 'c', 'n')", [LONG])
        eventually(lambda: stored(users).keys() == {"a", "b", "c"})
        connection.execute("UPDATE users SET email = email || '2' WHERE id < 3")
        connection.execute("DELETE FROM users WHERE id = 3")
        eventually(lambda: stored(users) == {"a2": (1, LONG), "b2": (2, None)})
        connection.execute("TRUNCATE users; INSERT INTO users VALUES (4, 'd', 'new')")
        eventually(lambda: stored(users) == {"d": (4, "new")})
