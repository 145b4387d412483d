from __future__ import annotations

import pytest

from frazil.connectors.debezium_keys import check_debezium, errors_of, is_debezium, warnings_of_debezium, with_cures
from frazil.connectors.registry import warnings_of
from frazil.errors import ConfigError

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
MYSQL = "io.debezium.connector.mysql.MySqlConnector"
CLEAN = {
    "connector.class": POSTGRES,
    "topic.prefix": "dbz",
    "table.include.list": "public.users",
    "topic.creation.groups": "cdc",
    "topic.creation.cdc.include": r"dbz\.public\.users",
    "errors.retry.timeout": "30000",
    "snapshot.locking.mode": "none",
    "plugin.name": "pgoutput",
}


def test_what_debezium_takes_is_left_alone() -> None:
    assert (errors_of(CLEAN), warnings_of_debezium(CLEAN)) == ([], [])
    assert [is_debezium(name) for name in (POSTGRES, "PostgresConnector", MYSQL, "a.IcebergSinkConnector")] == [
        *(True, True, True),
        False,
    ]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"database.server.name": "x"}, "database.server.name has no effect: since Debezium 2.0 it is topic.prefix"),
        ({"include.schema.changes": "true"}, "include.schema.changes has no effect: there are no schema changes"),
        ({"include.query": "false"}, "include.query has no effect: it is for MySQL"),
        ({"errors.retry.timeout.ms": "1"}, "errors.retry.timeout.ms has no effect: it is no key; write errors.retry."),
        ({"topic.creation.enable": "true"}, "topic.creation.enable has no effect: it is a key of the worker"),
        (
            {"database.history.kafka.topic": "a", "database.history.kafka.bootstrap.servers": "b"},
            "database.history.kafka.topic, database.history.kafka.bootstrap.servers have no effect",
        ),
        (
            {"value.converter": "JsonConverter"},
            "A null in a column with a default value becomes that value: write value.",
        ),
        ({"errors.tolerance": "all"}, "errors.tolerance=all leaves out changes that cannot be converted"),
        (
            {"topic.creation.cdc.include": "public.users"},
            r"topic.creation.cdc.include=public.users matches no topic, since it has to match the whole name of one: "
            r"write dbz\.public\.users",
        ),
    ],
)
def test_keys_that_do_nothing_are_named_with_what_to_write(keys: dict[str, str], told: str) -> None:
    (warning,) = warnings_of({**CLEAN, **keys})
    assert warning.startswith(told)


@pytest.mark.parametrize("more", [{"value.converter.schemas.enable": "false"}, {"value.converter": "AvroConverter"}])
def test_nulls_without_defaults_stay(more: dict[str, str]) -> None:
    assert warnings_of({**CLEAN, "value.converter": "JsonConverter", **more}) == []
    chosen = {"value.converter": "JsonConverter", "value.converter.replace.null.with.default": "true"}
    assert warnings_of({**CLEAN, **chosen}) == []


def test_keys_of_other_databases_are_not_those_of_postgres() -> None:
    mysql = {"connector.class": MYSQL, "include.schema.changes": "true", "snapshot.locking.mode": "minimal"}
    assert (errors_of(mysql), warnings_of_debezium(mysql)) == ([], [])
    (warning,) = warnings_of_debezium({**mysql, "database.history.kafka.topic": "a"})
    assert "since Debezium 2.0 they are schema.history.internal.*" in warning


def test_a_value_that_debezium_answers_without_naming_it() -> None:
    for name in (POSTGRES, "PostgresConnector", "Postgres"):
        with pytest.raises(
            ConfigError, match=r"Invalid value minimal for configuration snapshot.locking.mode: .* none"
        ):
            check_debezium({**CLEAN, "connector.class": name, "snapshot.locking.mode": "minimal"})
    check_debezium({**CLEAN, "snapshot.locking.mode": "${env:MODE}"})


@pytest.mark.parametrize(
    ("trace", "cure"),
    [
        ("ERROR: must be superuser to create FOR ALL TABLES publication", "Set publication.autocreate.mode=filtered"),
        ("ERROR: must be owner of table users", "GRANT SELECT on the tables"),
        ("FATAL: must be superuser or replication role to start walsender", "ALTER ROLE … REPLICATION"),
        ("ERROR: logical decoding requires wal_level >= logical", "ALTER SYSTEM SET wal_level = logical"),
        ('ERROR: replication slot "s" is active for PID 7', "Give each connector a slot.name of its own"),
        ("DebeziumException: …, but this is no longer available on the server.", "With snapshot.mode=when_needed"),
        (
            "InvalidReplicationFactorException: Unable to replicate the partition 3 time(s)",
            "topic.creation.default.replication.factor=-1",
        ),
    ],
)
def test_the_trace_of_a_known_failure_begins_with_what_to_do(trace: str, cure: str) -> None:
    whole = f"org.apache.kafka.connect.errors.ConnectException: no\nCaused by: {trace}\n\tat a.B"
    status = with_cures({"connector": {"state": "RUNNING"}, "tasks": [{"state": "FAILED", "trace": whole}]})
    first, _, rest = status["tasks"][0]["trace"].partition("\n")
    assert cure in first
    assert rest == whole
    assert with_cures(status)["tasks"][0]["trace"] == f"{first}\n{whole}", "once only"


def test_other_failures_are_left_alone() -> None:
    status = {"connector": {"state": "FAILED", "trace": "NullPointerException"}, "tasks": []}
    assert with_cures(status) == {"connector": {"state": "FAILED", "trace": "NullPointerException"}, "tasks": []}
