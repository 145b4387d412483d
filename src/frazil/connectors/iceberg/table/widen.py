"""Columns of a table for what records bring: as many as it may have, by schema evolution."""

from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.column_limits import admit
from frazil.connectors.iceberg.table.evolve import evolve, evolved
from frazil.errors import ConfigError
from frazil.pipeline.convert.infer import typed
from frazil.pipeline.results import TableResult


@dataclass(frozen=True)
class Widened:
    """The schema of a table with new columns, and why it got no more of them; empty when it got all.

    `warnings` and `doubtful` are those of `Admitted`.
    """

    schema: Schema
    refusal: str
    warnings: tuple[str, ...] = ()
    doubtful: bool = False


def widen(
    config: IcebergSinkConfig,
    table: Table,
    result: TableResult,
    catalog: Catalog | None,
    *,
    schema: Schema | None = None,
    ending: str,
) -> Widened:
    """Give a table what the records of a result lack in it; without `catalog` only tell what it would be.

    `schema` is what the records were judged by, that of the table when it is left out. Raises ConfigError, whose text
    has `ending` for what is left and what to do, when that changes nothing; else as `evolve` does.
    """
    before = table.schema() if schema is None else schema
    admitted = admit(config, before, result.unknown, result.seen)
    if catalog is None:
        now = evolved(table, admitted.fields, result.absent)
    else:
        now = evolve(catalog, table, admitted.fields, result.absent).schema()
    if now == before and not admitted.refusal:
        names = ", ".join(repr(".".join(path)) for path in sorted(typed(result.unknown)))
        raise ConfigError(f"{'.'.join(table.name())} cannot have columns for the unknown fields {names}; {ending}")
    return Widened(now, admitted.refusal, admitted.warnings, admitted.doubtful)
