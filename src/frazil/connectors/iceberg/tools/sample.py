"""What a connector would make of some records: the path of its tasks, with nothing written anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from confluent_kafka import Message
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.column_limits import admit, first_columns
from frazil.connectors.iceberg.table.commit import Target
from frazil.connectors.iceberg.table.create import EMPTY, new_table
from frazil.connectors.iceberg.table.evolve import evolved
from frazil.connectors.iceberg.table.schema import mapping_of, struct_of
from frazil.connectors.iceberg.table.writers import MapperFor, decode_spec, discovery
from frazil.connectors.iceberg.tools.kept_rows import KeptRows
from frazil.errors import NotFound
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.letters.letter import described
from frazil.pipeline.results import TableResult, TaskResult
from frazil.pipeline.rows import by_partition
from frazil.pipeline.task import ANY_COLUMNS, Bounds, Routing, TableSpec, TaskSpec, run

Verdict = Literal["stored", "dead letter", "skipped"]


@dataclass(frozen=True)
class Judged:
    """What would become of a record in a table, or without one; `reason` tells why it gives no row."""

    topic: str
    partition: int
    offset: int
    table: str
    verdict: Verdict
    reason: str = ""


@dataclass
class TableSample:
    """What a table would get: new and changed columns with their types, and the first rows.

    `problem`: why it gets none, or that it does not exist yet.
    """

    name: str
    changes: dict[str, str] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""


@dataclass
class Sample:
    """All verdicts, in the order of the records, and the tables that the records go to."""

    judged: list[Judged] = field(default_factory=list)
    tables: list[TableSample] = field(default_factory=list)


def sample(config: IcebergSinkConfig, mapper_for: MapperFor, records: Sequence[Message], most_rows: int) -> Sample:
    """Judge the records, and show at most `most_rows` rows of each table.

    Raises NotFound for a table of the configuration that does not exist, ConfigError or ServiceUnavailable when the
    catalog cannot be asked.
    """
    if not records:
        return Sample()
    return _Sampler(config, mapper_for).judge(records, most_rows)


class _Sampler:
    def __init__(self, config: IcebergSinkConfig, mapper_for: MapperFor) -> None:
        self._config = config
        self._mapper_for = mapper_for
        self._catalog = catalogs.connect(config.catalog_properties, config.catalog_name)

    def judge(self, records: Sequence[Message], most_rows: int) -> Sample:
        found = Sample()
        decodes: dict[str, DecodeSpec] = {}
        for name in self._names(records):
            table = TableSample(name)
            found.tables.append(table)
            decodes[name] = self._decode(table, records)
        problems = {table.name: table.problem for table in found.tables if decodes[table.name] is ANY_COLUMNS}
        for record in records:
            kept = {name: KeptRows() for name in decodes}
            result = self._run(decodes, problems, kept, [record])
            found.judged += _verdicts(record, result)
            for table in found.tables:
                rows = [row for part in kept[table.name].parts for row in part.to_pylist()]
                table.rows += rows[: most_rows - len(table.rows)]
        return found

    def _names(self, records: Sequence[Message]) -> list[str]:
        """The tables of the configuration, or those that the records name."""
        route = self._config.route
        if route is None or not route.names_tables:
            return list(self._config.tables)
        spec = TaskSpec((), self._config.transforms, Routing(route, Bounds()), envelope=self._config.schemas_enable)
        return sorted(run(by_partition(records), spec).missing)

    def _decode(self, table: TableSample, records: Sequence[Message]) -> DecodeSpec:
        """How records become rows after the evolution or creation that they would cause."""
        config = self._config
        try:
            loaded = Target(self._catalog, table.name, config.branch_of(table.name)).load()
        except NotFound as error:
            if config.auto_create:
                return self._decode_new(table, records)
            if table.name in config.tables:
                raise
            table.problem = str(error)
            return ANY_COLUMNS
        schema, names = loaded.schema(), mapping_of(loaded)
        decode = decode_spec(config, schema, self._mapper_for, name_mapping=names)
        result = self._result(table.name, decode, records)
        if not ((result.unknown or result.absent) and config.evolve_schema):
            return decode
        admitted = admit(config, schema, result.unknown, result.seen)
        wider = evolved(loaded, admitted.fields, result.absent)
        table.changes = _changes(schema, wider)
        return decode_spec(config, wider, self._mapper_for, admitted.refusal, names)

    def _decode_new(self, table: TableSample, records: Sequence[Message]) -> DecodeSpec:
        """For a table that would be made of these records."""
        result = self._result(table.name, discovery(self._config), records)
        columns = first_columns(self._config, result.unknown)
        if not columns:
            table.problem = EMPTY
            return ANY_COLUMNS
        schema, _ = new_table(table.name, columns, self._config.creation, result.seen)
        table.problem = "the table does not exist and would be created"
        table.changes = _changes(Schema(), schema)
        return decode_spec(self._config, schema, self._mapper_for)

    def _result(self, name: str, decode: DecodeSpec, records: Sequence[Message]) -> TableResult:
        return self._run({name: decode}, {}, {name: KeptRows()}, records).tables[name]

    def _run(
        self,
        decodes: Mapping[str, DecodeSpec],
        problems: Mapping[str, str],
        kept: Mapping[str, KeptRows],
        records: Sequence[Message],
    ) -> TaskResult:
        tables = tuple(
            TableSpec(name, decode, kept[name], refusal=problems.get(name, "")) for name, decode in decodes.items()
        )
        route = self._config.route
        routing = None if route is None else Routing(route, Bounds(), frozenset(decodes))
        spec = TaskSpec(tables, self._config.transforms, routing, envelope=self._config.schemas_enable)
        return run(by_partition(records), spec)


def _changes(before: Schema, after: Schema) -> dict[str, str]:
    """Columns that are new or of another type, without what is inside of new ones."""
    found: dict[str, str] = {}
    known = set(before.column_names)
    for name in sorted(after.column_names, key=lambda name: name.count(".")):
        column = after.find_field(name)
        text = f"{_type_text(column)}{' not null' if column.required else ''}"
        if name not in known:
            inside = any(name.startswith(f"{other}.") for other in found)
        else:
            old = before.find_field(name)
            inside = old.required == column.required and (
                old.field_type == column.field_type or not column.field_type.is_primitive
            )
        if not inside:
            found[name] = text
    return found


def _type_text(column: NestedField) -> str:
    """The type as it is written in a configuration, without ids."""
    return str(struct_of(Schema(column)).fields[0].type)


def _verdicts(record: Message, result: TaskResult) -> Iterator[Judged]:
    place = record.topic() or "", record.partition() or 0, record.offset() or 0
    for name, of_table in [*result.tables.items(), ("", result.rest)]:
        if of_table.read:
            yield Judged(*place, name, *_verdict(of_table))


def _verdict(result: TableResult) -> tuple[Verdict, str]:
    if result.dead:
        return "dead letter", described(result.dead[0].path, result.dead[0].reason)
    if result.skipped.total():
        return "skipped", ", ".join(result.skipped)
    return "stored", ""
