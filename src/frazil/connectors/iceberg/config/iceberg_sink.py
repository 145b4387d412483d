"""Configuration of the Iceberg sink: rules between keys, and the typed result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os.path import commonprefix
from typing import TYPE_CHECKING

from frazil.clients.catalog_properties import named_code
from frazil.connectors.iceberg.config.creation import TABLE_PROPERTIES, Creation, check_creation, creation
from frazil.connectors.iceberg.config.keys import CDC_FORMAT, ICEBERG_KEYS, MAPPERS
from frazil.connectors.iceberg.config.row_changes import RowChanges, brings_changes, check_row_changes, row_changes
from frazil.connectors.iceberg.config.table_rules import (
    MOST_NEW,
    branches,
    check_tables,
    commit_threads,
    default_branch,
    route,
)
from frazil.connectors.keys.framework import (
    check_sink,
)
from frazil.connectors.keys.maintenance import BY_NEED, MaintenanceConfig, maintenance_config
from frazil.connectors.keys.sink_config import SinkConfig, sink_fields
from frazil.connectors.keys.sink_definition import BATCH_RECORDS, sink_definition
from frazil.declare.converters import (
    check_converters,
)
from frazil.declare.definition import ConfigDef, Parsed, invalid_value
from frazil.declare.placeholders import has_placeholder
from frazil.pipeline.convert.column_types import ColumnType, check_column_types, column_types
from frazil.pipeline.mapper import RecordMapper, mapper_for
from frazil.pipeline.route import Route
from frazil.pipeline.transforms.declaration import (
    check_transforms,
    reads_text,
    with_change_events,
    with_operations,
    writes_operation,
)
from frazil.pipeline.transforms.plugin import CHANGE_OP, CHANGE_TS, NOTES, OPERATION

if TYPE_CHECKING:
    from pyiceberg.schema import Schema

_APACHE = "org.apache."


@dataclass(frozen=True)
class ConnectSink:
    """A connector as Kafka Connect runs it.

    `groups` are the consumer groups that hold its position in the topics that it reads, the one that counts first;
    their names stand in its events on `control_topic` and in the snapshots that it commits.
    """

    control_topic: str
    groups: tuple[str, ...]

    @property
    def properties(self) -> tuple[str, ...]:
        """Properties of a snapshot by which it can be told that the sink has made it."""
        return tuple(map(self.property_of, self.groups))

    def property_of(self, group: str) -> str:
        """Name of a group's property, whose value is the position on the control topic: `{partition: next offset}`."""
        return f"kafka.connect.offsets.{self.control_topic}.{group}"


def connect_sink(name: str, config: Mapping[str, str], parsed: Parsed, group: str) -> ConnectSink:
    """The sink of the generation that the class names; `group` is the consumer group of the connector.

    The sink of `io.tabular` trusts a control group and falls back to the consumer group; that of Apache has no other
    than the consumer group.
    """
    control = parsed.text("iceberg.control.group-id").strip() or f"cg-control-{name}"
    one = config.get("connector.class", "").startswith(_APACHE)
    return ConnectSink(parsed.text("iceberg.control.topic"), (group,) if one else (control, group))


CATALOG = "iceberg.catalog"
_CATALOG_PROPERTIES = (
    *("type", "uri", "warehouse", "prefix", "catalog-impl", "io-impl", "token", "credential", "scope", "client.region"),
    *("oauth2-server-uri", "rest.auth.type", "rest.sigv4-enabled", "rest.signing-name", "rest.signing-region"),
    *("rest.access-key-id", "rest.secret-access-key", "rest.session-token"),
    *("s3.endpoint", "s3.region", "s3.access-key-id", "s3.secret-access-key", "s3.session-token"),
    "s3.path-style-access",
)
"""Usual properties of catalogs, which may have any others: a name that is nearly one of these is hardly meant."""
_WRITE = "iceberg.tables.write-props"
_CODECS = ("zstd", "gzip", "snappy", "lz4", "brotli", "uncompressed")


@dataclass(frozen=True, kw_only=True)
class IcebergSinkConfig(SinkConfig):
    """A checked Iceberg sink configuration; see `SinkConfig`.

    `tables` is empty when records name their tables, as `route`
    says; without `route` every record goes to every table. `commit_branches` has every table of `tables`.
    `connect_sink` says where Kafka Connect has the state of the connector, before this one takes it over.
    `catalog_properties` and `write_properties` are without their prefix. `record_mappers` is None for all
    that are installed.
    """

    tables: tuple[str, ...]
    evolve_schema: bool
    auto_create: bool
    commit_interval_ms: int
    commit_branches: Mapping[str, str]
    default_branch: str
    commit_threads: int
    catalog_name: str
    catalog_properties: Mapping[str, str]
    write_properties: Mapping[str, str]
    redact: bool
    record_mappers: tuple[str, ...] | None
    max_records_per_batch: int
    max_new_columns_per_batch: int
    max_columns: int
    max_new_tables: int
    connect_sink: ConnectSink
    route: Route | None = None
    creation: Creation = field(default_factory=Creation)
    column_types: Mapping[tuple[str, ...], ColumnType | None] = field(default_factory=dict)
    force_optional: bool = False
    any_case: bool = False
    legacy_conversion: bool = False
    row_changes: RowChanges | None = None
    maintenance: MaintenanceConfig | None = None
    compacts: bool = True

    @property
    def names_tables(self) -> bool:
        """Whether records name tables of their own."""
        return self.route is not None and self.route.names_tables

    def branch_of(self, table: str) -> str:
        """The branch to commit to."""
        return self.commit_branches.get(table, self.default_branch)

    def mapper_for(self, schema: Schema) -> RecordMapper | None:
        """Mapper of records for a table with these columns, which also redacts, if any mapper knows such tables."""
        return mapper_for(schema, self.record_mappers, redact=self.redact)


def iceberg_sink_definition(config: Mapping[str, str | None]) -> ConfigDef:
    """All keys that count for `config`: the framework's, the sink's, those of its transformations and converters."""
    return sink_definition(config, ICEBERG_KEYS, keys=brings_changes(config))


def parse_iceberg_sink(config: Mapping[str, str | None]) -> Parsed:
    """Parse and check a configuration; errors and warnings are in the result, nothing is raised."""
    parsed = iceberg_sink_definition(config).parse(config)
    check_iceberg_sink(parsed)
    return parsed


def check_iceberg_sink(parsed: Parsed) -> None:
    """Rules between keys."""
    check_sink(parsed)
    check_converters(parsed, text=reads_text(parsed.config))
    check_transforms(parsed)
    check_tables(parsed)
    check_creation(parsed)
    check_column_types(parsed)
    _check_catalog(parsed)
    _check_code(parsed)
    _check_write_properties(parsed)
    check_row_changes(parsed)


def _check_catalog(parsed: Parsed) -> None:
    properties = parsed.members(CATALOG + ".*")
    if not properties:
        parsed.fail(
            CATALOG,
            f"Must specify Iceberg catalog properties: {CATALOG}.type, {CATALOG}.uri, {CATALOG}.warehouse; the worker "
            "has no catalog of its own, which would count without them: ICEBERG_CATALOG_URI and MINIO_ENDPOINT are not "
            "set, and its home (FRAZIL_HOME) has no store, which `start` makes",
        )
        return
    for name in sorted(properties.keys() - set(_CATALOG_PROPERTIES)):
        meant = next((known for known in _CATALOG_PROPERTIES if _is_slip(name, known)), None)
        if meant is not None:
            parsed.warn(f"{CATALOG}.{name} is no property that is known here; did you mean {CATALOG}.{meant}?")
    implementation = properties.get("catalog-impl", "")
    rest = implementation.endswith(".RESTCatalog") or (
        not implementation and properties.get("type", "").strip() == "rest"
    )
    open_ = any(has_placeholder(text) for text in (implementation, properties.get("type", "")))
    if not rest and not open_:
        remove = " and remove catalog-impl" if implementation else ""
        parsed.fail(CATALOG, f"Only REST catalogs are supported: set {CATALOG}.type to rest{remove}")


def _is_slip(name: str, meant: str) -> bool:
    """Whether one letter is wrong, too many or missing, or two have changed places."""
    start = len(commonprefix([name, meant]))
    left, right = name[start:], meant[start:]
    end = len(commonprefix([left[::-1], right[::-1]]))
    left, right = left[: len(left) - end], right[: len(right) - end]
    return max(len(left), len(right)) < 2 or (len(left) == 2 and left == right[::-1])


def _check_code(parsed: Parsed) -> None:
    for family in (f"{CATALOG}.*", f"{_WRITE}.*", TABLE_PROPERTIES):
        for name, value in named_code(parsed.members(family)).items():
            if not has_placeholder(value) and name != "catalog-impl":  # which is told apart before
                key = family.replace("*", name)
                parsed.fail(key, invalid_value(key, value, "It names code to be loaded, which frazil never does"))


def _check_write_properties(parsed: Parsed) -> None:
    for name, text in parsed.members(_WRITE + ".*").items():
        key, value = f"{_WRITE}.{name}", text.strip()
        if has_placeholder(value):
            continue
        if name == "write.parquet.compression-codec" and value not in _CODECS:
            parsed.fail(key, invalid_value(key, value, f"String must be one of: {', '.join(_CODECS)}"))
        elif name == "write.parquet.compression-level" and not value.removeprefix("-").isdecimal():
            parsed.fail(key, invalid_value(key, value, "Not a number of type INT"))
        elif name == "write.format.default" and value != "parquet":
            parsed.warn(f"{key} has no effect here: data files are Parquet files")


def iceberg_sink_config(config: Mapping[str, str]) -> IcebergSinkConfig:
    """The typed configuration; raises ConfigError with all errors in Connect's text when there are any."""
    return typed_config(config, parse_iceberg_sink(config))


def typed_config(config: Mapping[str, str], parsed: Parsed) -> IcebergSinkConfig:
    """The typed configuration of one that is parsed; raises as `iceberg_sink_config` does."""
    common = sink_fields(parsed, keys=brings_changes(config))
    changes, types = row_changes(parsed), column_types(parsed)
    if changes is not None and changes.events:
        common["key"] = replace(common["key"], events=parsed.text(CDC_FORMAT))
        common["transforms"] = with_change_events(
            common["transforms"], parsed.text(CDC_FORMAT), common["key"], changes=changes.keeps_changes
        )
        if changes.keeps_changes:
            types = {(CHANGE_OP,): None, (CHANGE_TS,): None, **types}
    if changes is not None and changes.operation == OPERATION and common["transforms"] is not None:
        common["transforms"] = with_operations(common["transforms"])
    if changes is not None and changes.operation == OPERATION and (changes.events or writes_operation(config)):
        asked = any(path[0] == OPERATION[0] for path in types)
        types = {**({(OPERATION[0], name): None for name in NOTES} if asked else {OPERATION[:1]: None}), **types}
    tables = tuple(dict.fromkeys(parsed.items("iceberg.tables")))
    return IcebergSinkConfig(
        **common,
        tables=tables,
        evolve_schema=parsed.flag("iceberg.tables.evolve-schema-enabled"),
        auto_create=parsed.flag("iceberg.tables.auto-create-enabled"),
        commit_interval_ms=parsed.number("iceberg.control.commit.interval-ms"),
        commit_branches=branches(parsed, tables),
        default_branch=default_branch(parsed),
        commit_threads=commit_threads(parsed),
        catalog_name=parsed.text(CATALOG),
        catalog_properties={key: text.strip() for key, text in parsed.members(CATALOG + ".*").items()},
        write_properties={key: text.strip() for key, text in parsed.members(_WRITE + ".*").items()},
        redact=parsed.flag("frazil.redact.enabled"),
        record_mappers=None if parsed.values[MAPPERS] is None else parsed.items(MAPPERS),
        max_records_per_batch=parsed.number(BATCH_RECORDS.name),
        max_new_columns_per_batch=parsed.number("frazil.schema.max.new.columns"),
        max_columns=parsed.number("frazil.schema.max.columns"),
        max_new_tables=parsed.number(MOST_NEW),
        connect_sink=connect_sink(common["name"], config, parsed, common["group_id"]),
        route=route(parsed),
        creation=creation(parsed),
        column_types=types,
        force_optional=parsed.flag("iceberg.tables.schema-force-optional"),
        any_case=parsed.flag("iceberg.tables.schema-case-insensitive"),
        legacy_conversion=parsed.text("frazil.conversion.mode") == "legacy",
        row_changes=changes,
        maintenance=maintenance_config(parsed),
        compacts=parsed.flag(BY_NEED),
    )
