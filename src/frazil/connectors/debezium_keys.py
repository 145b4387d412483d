"""Keys of Debezium's source connectors that do nothing or are refused, with what to write instead.

Debezium passes over keys that it does not know, and Kafka Connect answers some values with an error that names neither
the key nor the value.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from frazil.declare.converters import JSON_CONVERTER, NULLS_TAKE_DEFAULTS, converter_class
from frazil.declare.definition import invalid_config_message, invalid_value
from frazil.errors import ConfigError
from frazil.text.java_regex import compile_java
from frazil.text.lists import listed

_PACKAGE = "io.debezium.connector."
_POSTGRES = f"{_PACKAGE}postgresql.PostgresConnector"
_ALIASES = {"PostgresConnector": _POSTGRES, "Postgres": _POSTGRES}
_LOCKING = "snapshot.locking.mode"
_LOCKING_MODES = ("shared", "none", "custom")
_GROUP = re.compile(r"topic\.creation\.(.+)\.include")
_GONE: Mapping[str, str] = {
    "database.server.name": "since Debezium 2.0 it is topic.prefix",
    "errors.retry.timeout.ms": "it is no key; write errors.retry.timeout",
    "topic.creation.enable": "it is a key of the worker, where it is true by default",
}
_GONE_IN_POSTGRES: Mapping[str, str] = {
    "include.schema.changes": "there are no schema changes of PostgreSQL to include; remove it",
    "include.query": "it is for MySQL and MariaDB; remove it",
}
_SLOT_IN_USE = (
    "Another connector, or this one before it was killed, reads the slot; it is free once its connection has "
    "ended. Give each connector a slot.name of its own"
)
_CURES = (
    (
        re.compile(r"must be superuser to create FOR ALL TABLES publication"),
        "The user may not publish all tables of the database, as Debezium does by default. Set "
        "publication.autocreate.mode=filtered, make the user the owner of the tables, and GRANT CREATE ON DATABASE to "
        "it; or have a superuser CREATE PUBLICATION dbz_publication FOR TABLE …",
    ),
    (
        re.compile(r"permission denied for (?:database|table|schema) \S+|must be owner of table \S+"),
        "The user lacks a right in PostgreSQL: GRANT SELECT on the tables and USAGE on their schemas; to make the "
        "publication it has to own the tables and needs GRANT CREATE ON DATABASE",
    ),
    (
        re.compile(
            r"must be superuser or replication role|permission denied to (?:use|start) replication"
            r"|REPLICATION attribute"
        ),
        "The user may not replicate: ALTER ROLE … REPLICATION, on Amazon RDS GRANT rds_replication TO it",
    ),
    (
        re.compile(r"logical decoding requires wal_level|Postgres server wal_level property must be .?logical"),
        "The server keeps too little in its log: ALTER SYSTEM SET wal_level = logical and restart it; on Amazon RDS "
        "set rds.logical_replication=1",
    ),
    (
        re.compile(r"[Rr]eplication factor:? \S* ?(?:is )?larger than|Unable to replicate the partition"),
        "The cluster has fewer brokers than the topic is to have replicas: set "
        "topic.creation.default.replication.factor=-1, which is the broker's own default",
    ),
    (re.compile(r"replication slot \S+ is active"), _SLOT_IN_USE),
    (
        re.compile(r"but this is no longer available on the server"),
        "The slot was dropped or has lost its log, so changes are missing from the topics. With "
        "snapshot.mode=when_needed Debezium takes a snapshot again, which brings each row, but no deletes: "
        "`verify … --against postgres://…` shows rows that should be gone as surplus",
    ),
)


def is_debezium(class_name: str) -> bool:
    """Whether a class is one of Debezium's source connectors."""
    return _ALIASES.get(class_name, class_name).startswith(_PACKAGE)


def check_debezium(config: Mapping[str, str | None]) -> None:
    """Raise ConfigError, in Connect's text, for values that Debezium refuses without naming them."""
    errors = errors_of(config)
    if errors:
        raise ConfigError(invalid_config_message(errors))


def errors_of(config: Mapping[str, str | None]) -> list[str]:
    """Values that Debezium refuses without naming them; none for other classes."""
    mode = (config.get(_LOCKING) or "").strip()
    if not is_postgres(config) or not mode or "${" in mode or mode.lower() in _LOCKING_MODES:
        return []
    reason = f"PostgreSQL's snapshots know {', '.join(_LOCKING_MODES)}: write none, the default, or remove the key"
    return [invalid_value(_LOCKING, mode, reason)]


def warnings_of_debezium(config: Mapping[str, str]) -> list[str]:
    """Keys that have no effect, or another one than it seems, with what to write instead; none for other classes."""
    if not is_debezium(config.get("connector.class", "").strip()):
        return []
    gone = {**_GONE, **(_GONE_IN_POSTGRES if is_postgres(config) else {})}
    found = [f"{name} has no effect: {gone[name]}" for name in config if name in gone]
    history = [name for name in config if name.startswith("database.history.")]
    if history:
        what = (
            "the connector for PostgreSQL keeps no history of schemas; remove them"
            if is_postgres(config)
            else "since Debezium 2.0 they are schema.history.internal.*"
        )
        found.append(f"{', '.join(history)} have no effect: {what}")
    if config.get("errors.tolerance", "").strip() == "all":
        found.append(
            "errors.tolerance=all leaves out changes that cannot be converted, and they are lost; write none, the "
            "default"
        )
    return [*found, *_defaults(config), *_groups(config)]


def _defaults(config: Mapping[str, str]) -> list[str]:
    """Converters that replace nulls of the database, unless they are asked to; the worker's own are not known here."""
    key = NULLS_TAKE_DEFAULTS
    if converter_class(config.get("value.converter", "")) != JSON_CONVERTER or key in config:
        return []
    if config.get("value.converter.schemas.enable", "true").strip().lower() != "true":
        return []
    return [f"A null in a column with a default value becomes that value: write {key}=false, in its sinks too"]


def with_cures(status: dict[str, Any]) -> dict[str, Any]:
    """The status of a source connector, where the trace of a known failure begins with what to do about it."""
    for part in (status.get("connector", {}), *status.get("tasks", [])):
        trace = part.get("trace", "")
        cure = cure_of(trace)
        if cure and not trace.startswith(cure):
            part["trace"] = f"{cure}.\n{trace}"
    return status


def cure_of(text: str) -> str:
    """Tell what to do about a known failure; empty for any other."""
    return next((cure for pattern, cure in _CURES if pattern.search(text)), "")


def waits_for_user(text: str) -> bool:
    """Whether a failure is a known one that does not pass by itself."""
    cure = cure_of(text)
    return bool(cure) and cure != _SLOT_IN_USE


def is_postgres(config: Mapping[str, str | None]) -> bool:
    """Whether it is a connector for PostgreSQL."""
    name = (config.get("connector.class") or "").strip()
    return _ALIASES.get(name, name) == _POSTGRES


def _groups(config: Mapping[str, str]) -> Iterator[str]:
    """Groups of topics that no topic is in: their expressions have to match whole names, which begin with a prefix."""
    prefix = config.get("topic.prefix", "").strip()
    for name, text in config.items():
        found = _GROUP.fullmatch(name)
        if found is None or not prefix or "${" in text + prefix or text.startswith((".", "(", "[")):
            continue
        tables = listed(config.get("table.include.list", ""))
        topics = [f"{prefix}.{table}".replace("\\", "") for table in tables]
        try:
            expressions = list(map(compile_java, listed(text)))
        except re.error:
            continue  # Kafka Connect refuses it
        if topics and not any(each.matches(topic) for each in expressions for topic in topics):
            wanted = ",".join(topic.replace(".", r"\.") for topic in topics)
            yield (
                f"{name}={text} matches no topic, since it has to match the whole name of one: write {wanted}. The "
                f"keys of the group {found[1]} have no effect as it is"
            )
