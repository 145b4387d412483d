"""Judges records by the path of a connector's tasks, with nothing written anywhere."""

from collections.abc import Iterator, Sequence

from confluent_kafka import Message
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.column_limits import widen
from frazil.connectors.iceberg.table.create import EMPTY
from frazil.connectors.iceberg.table.schema import struct_of
from frazil.connectors.iceberg.table.without_effect import without_effect
from frazil.connectors.iceberg.tools.trial import Trial, decode_of, made_of, table_branch, tried
from frazil.connectors.sample import Judged, Sample, TableSample, Verdict
from frazil.errors import NotFound
from frazil.pipeline.computed import Computed
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.letters.letter import described
from frazil.pipeline.results import TableResult
from frazil.pipeline.rows import Rows, rows_of
from frazil.pipeline.task_spec import ANY_COLUMNS
from frazil.pipeline.transforms.absent import absent_fields

_NO_COLUMNS = "the connector would fail. Set iceberg.tables.evolve-schema-enabled=false, or correct the producer"


def sample(config: IcebergSinkConfig, records: Sequence[Message], most_rows: int) -> Sample:
    """Judge the records, and show at most `most_rows` rows of each table.

    Raises NotFound for a table of the configuration that does not exist, ConfigError or ServiceUnavailable when the
    catalog cannot be asked.
    """
    if not records:
        return Sample()
    rows = [rows_of([record]) for record in records]
    found = judge(config, rows, most_rows)
    route = () if config.route is None else config.route.path
    found.warnings += absent_fields(rows, config.transforms, config.envelope, ("iceberg.tables.route-field", route))
    return found


def judge(
    config: IcebergSinkConfig, records: Sequence[Rows], most_rows: int, computed: Computed | None = None
) -> Sample:
    """Judge records, each by itself; with `computed` they are such rows, those of one record together.

    Raises as `sample` does.
    """
    return _Sampler(config, computed).judge(records, most_rows)


class _Sampler:
    def __init__(self, config: IcebergSinkConfig, computed: Computed | None) -> None:
        self._config = config
        self._computed = computed
        self._catalog = catalogs.connect(config.catalog_properties, config.catalog_name)

    def judge(self, records: Sequence[Rows], most_rows: int) -> Sample:
        found = Sample()
        decodes: dict[str, DecodeSpec] = {}
        for name in self._names(records):
            table = TableSample(name)
            found.tables.append(table)
            decodes[name] = self._decode(table, records)
        problems = {table.name: table.problem for table in found.tables if decodes[table.name] is ANY_COLUMNS}
        for record in records:
            trial = tried(self._config, decodes, [record], problems, computed=self._computed)
            found.judged += _verdicts(record, trial)
            for table in found.tables:
                rows = [row for part in trial.rows[table.name] for row in part.to_pylist()]
                table.rows += rows[: most_rows - len(table.rows)]
        return found

    def _names(self, records: Sequence[Rows]) -> list[str]:
        """The tables of the configuration, or those that the records name."""
        if not self._config.names_tables:
            return list(self._config.tables)
        return sorted(tried(self._config, {}, records).missing)

    def _decode(self, table: TableSample, records: Sequence[Rows]) -> DecodeSpec:
        """Make the decoding of a table as it would be after the evolution or creation that the records cause."""
        config = self._config
        try:
            loaded = table_branch(config, self._catalog, table.name).load()
        except NotFound as error:
            if config.auto_create:
                return self._decode_new(table, records)
            if table.name in config.tables:
                raise
            table.problem = str(error)
            return ANY_COLUMNS
        table.warnings += without_effect(config, loaded)
        decode = decode_of(config, loaded)
        result = self._result(table.name, decode, records)
        if not (result.lacks and config.evolve_schema):
            return decode
        wider = widen(config, loaded, result, None, ending=_NO_COLUMNS)
        table.warnings += wider.warnings
        table.changes = _changes(loaded.schema(), wider.schema)
        return decode_of(config, loaded, wider.schema, wider.refusal)

    def _decode_new(self, table: TableSample, records: Sequence[Rows]) -> DecodeSpec:
        """Make the decoding of a table that would be made of these records."""
        new = made_of(self._config, table.name, records, self._computed)
        if new is None:
            table.problem = EMPTY
            return ANY_COLUMNS
        table.problem = "the table does not exist and would be created"
        table.warnings += new.warnings
        table.changes = _changes(Schema(), new.schema)
        return new.decode

    def _result(self, name: str, decode: DecodeSpec, records: Sequence[Rows]) -> TableResult:
        return tried(self._config, {name: decode}, records, computed=self._computed).results[name]


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


def _verdicts(record: Rows, trial: Trial) -> Iterator[Judged]:
    for name, of_table in [*trial.results.items(), ("", trial.rest)]:
        if of_table.read:
            yield Judged(record.topic, record.partition, int(record.offsets[0]), name, *_verdict(of_table))


def _verdict(result: TableResult) -> tuple[Verdict, str]:
    if result.dead:
        return "dead letter", described(result.dead[0].path, result.dead[0].reason)
    if result.skipped.total():
        return "skipped", ", ".join(result.skipped)
    return "stored", ""
