"""The table that a source table's changes go to, as the sink itself finds and makes it from their first record."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.cdc.source import SourceTable
from frazil.connectors.iceberg.config.creation import Creation
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.column_limits import admit
from frazil.connectors.iceberg.table.commit import TableBranch
from frazil.connectors.iceberg.table.create import create_table, creation_of, new_table
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.taken import check_untouched, taken_rows
from frazil.connectors.iceberg.table.writers import discovery
from frazil.connectors.iceberg.tools.trial import table_branch, tried
from frazil.connectors.source import matching
from frazil.declare.converters import NULLS_TAKE_DEFAULTS
from frazil.errors import ConfigError, NotFound
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.infer import Path
from frazil.pipeline.envelope import columns_of
from frazil.pipeline.rows import Rows
from frazil.pipeline.schemas.connect import ConnectSchema
from frazil.pipeline.source_positions import Taken
from frazil.pipeline.types import Type

_OF_TOPICS = {"RegexRouter", "ByLogicalTableRouter"}
"""Transformations that leave rows as they are."""
_EVENTS = "ChangeEvents"
"""The one that `frazil.cdc.format` stands for."""
_FORMATS = ("debezium", "auto")


@dataclass(frozen=True)
class Target:
    """A table of the sink; `taken` is when its rows were taken, if they have been.

    `columns` and `creation` are those of a table that is to be made.
    """

    branch: TableBranch
    taken: Taken | None = None
    columns: Mapping[Path, Type] = field(default_factory=dict)
    creation: Creation = field(default_factory=Creation)

    def make(self) -> tuple[Table, pa.Schema]:
        """The table, made if it is missing, with the Arrow schema of its rows. Raises as `create_table` does."""
        if self.columns:
            create_table(self.branch.catalog, self.branch.name, self.columns, self.creation)
        table = self.branch.with_branch(self.branch.load())
        return table, arrow_schema(struct_of(table.schema()))


def check_sink(config: IcebergSinkConfig, stored: Mapping[str, str]) -> None:
    """Raise ConfigError for a sink that would make other rows of the changes than a snapshot makes."""
    problem = ""
    chain = config.transforms
    others = sorted({step.name for step in chain.steps} - _OF_TOPICS - {_EVENTS}) if chain is not None else []
    if config.row_changes is None or stored.get("frazil.cdc.format", "").strip() not in _FORMATS:
        problem = "frazil.cdc.format=debezium is missing: with it the table knows which changes its rows have already"
    elif config.row_changes.keeps_changes:
        problem = "it has tables with frazil.cdc.mode=append or history, whose rows are changes; let Debezium take them"
    elif others:
        problem = f"{', '.join(others)} would change rows, which a snapshot does not"
    elif config.route is not None and not config.route.topic_pattern:
        problem = "iceberg.tables.route-field chooses tables row by row; use frazil.tables.topic-pattern"
    elif stored.get(NULLS_TAKE_DEFAULTS, "true").strip().lower() != "false":
        problem = f"it would make default values of nulls; write {NULLS_TAKE_DEFAULTS}=false"
    elif config.auto_offset_reset != "earliest":
        problem = "with consumer.override.auto.offset.reset=latest it would pass over changes"
    if problem:
        raise ConfigError(f"connector {config.name} cannot go on from a snapshot: {problem}. Nothing was done")


def find_target(
    config: IcebergSinkConfig, catalog: Catalog, topic: str, table: SourceTable, schemas: Mapping[str, ConnectSchema]
) -> Target:
    """Find the table that changes of `topic` go to.

    `schemas` are those that records have for the columns. Raises ConfigError for a table that would not have exactly
    their types, or that has rows of others, and NotFound for one that is missing and may not be made.
    """
    if topic not in config.topics and not (config.topics_regex and matching(config.topics_regex, [topic])):
        raise ConfigError(f"connector {config.name} does not read the topic {topic}; add it to its topics")
    key, value, after = _first_record(topic, table, schemas)
    rows = Rows(topic, 0, np.zeros(1, np.int64), np.zeros(1, np.int64), [value], [key], [()])
    names = list(tried(config, {}, [rows]).missing) if config.route is not None else list(config.tables)
    if len(names) != 1:
        raise ConfigError(f"changes of {table} go to {len(names)} tables ({', '.join(names)}), not to one")
    name = names[0]
    result = tried(config, {name: discovery(config)}, [rows]).results[name]
    if result.dead:
        raise ConfigError(f"connector {config.name} would refuse the changes of {table}: {result.dead[0].reason}")
    found = admit(config, None, result.unknown, result.seen)
    creation = creation_of(config, name, result.key_fields)
    schema, _ = new_table(name, found.fields, creation)
    expected = columns_of(after.to_json())
    wanted = {} if expected is None else {each.name: each.type for each in expected.fields}
    _check_columns(name, wanted, {path[0]: type_ for path, type_ in found.fields.items()})
    if config.mapper_for(schema) is not None:
        raise ConfigError(f"rows of {name} are rewritten by a mapper of records, which a snapshot does not do")
    branch = table_branch(config, catalog, name)
    try:
        stored = branch.load()
    except NotFound:
        if not config.auto_create:
            raise
        return Target(branch, columns=found.fields, creation=creation)
    taken = taken_rows(stored, branch.branch)
    if topic in taken:
        return Target(branch, taken[topic])
    check_untouched(stored, config.name, branch.branch)
    _check_columns(name, wanted, {each.name: each.type for each in struct_of(stored.schema()).fields})
    return Target(branch)


def _check_columns(name: str, wanted: Mapping[str, Type], have: Mapping[str, Type]) -> None:
    differing = {
        column: f"{have.get(column, 'missing')} instead of {wanted.get(column, 'no column')}"
        for column in wanted.keys() | have.keys()
        if str(wanted.get(column)) != str(have.get(column))
    }
    if differing:
        told = "; ".join(f"{column}: {what}" for column, what in sorted(differing.items()))
        raise ConfigError(f"table {name} would not have the columns that its changes bring: {told}")


def _first_record(
    topic: str, table: SourceTable, schemas: Mapping[str, ConnectSchema]
) -> tuple[bytes, bytes, ConnectSchema]:
    """Make key and value of a record of the table as Debezium does, with the schema of the row.

    Its columns have no values, so they may all be null.
    """
    fields = [_member(each.name, schemas[each.name]) for each in table.columns]
    after = ConnectSchema("struct", optional=True, name=f"{topic}.Value", field="after", fields=fields)
    parts = {
        "connector": "postgresql",
        "db": "",
        "schema": table.schema,
        "table": table.name,
        "snapshot": "first",
    }
    source = ConnectSchema(
        "struct", field="source", fields=[ConnectSchema("string", field=name, optional=True) for name in parts]
    )
    envelope = ConnectSchema(
        "struct",
        name=f"{topic}.Envelope",
        fields=[
            _named(after, "before"),
            after,
            source,
            ConnectSchema("string", field="op"),
            ConnectSchema("int64", optional=True, field="ts_ms"),
        ],
    )
    nothing: dict[str, Any] = {each.name: None for each in table.columns}
    event = {"before": None, "after": nothing, "source": parts, "op": "r", "ts_ms": 0}
    key = ConnectSchema(
        "struct",
        name=f"{topic}.Key",
        fields=[_member(each.name, schemas[each.name]) for each in table.key],
    )
    return (
        _with_schema(key, {each.name: None for each in table.key}),
        _with_schema(envelope, event),
        _named(after, None),
    )


def _member(name: str, schema: ConnectSchema) -> ConnectSchema:
    return msgspec.structs.replace(schema, field=name, optional=True)


def _named(schema: ConnectSchema, name: str | None) -> ConnectSchema:
    """The schema as a member of this name, or as none."""
    return msgspec.structs.replace(schema, field=name)


def _with_schema(schema: ConnectSchema, payload: Mapping[str, Any]) -> bytes:
    return b'{"schema":%b,"payload":%b}' % (schema.to_json(), json.dumps(payload).encode())
