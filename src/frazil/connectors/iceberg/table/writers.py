"""Specifications for tasks that turn records into the data files of one table."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import NameMapping

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.column_limits import MOST, MOST_NEW
from frazil.connectors.iceberg.table.schema import check_any_case, struct_of
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.pipeline.convert.decode import DecodeSpec
from frazil.pipeline.convert.overrides import overrides_of
from frazil.pipeline.task_spec import ANY_COLUMNS
from frazil.pipeline.types import has_aliases
from frazil.pipeline.versions import WRITTEN

logger = logging.getLogger(__name__)


def decode_spec(
    config: IcebergSinkConfig, schema: Schema, no_more_columns: str = "", name_mapping: NameMapping | None = None
) -> DecodeSpec:
    """Decoding of records to rows of the schema.

    `no_more_columns` is the reason why records with unknown fields are refused; empty when they are not. A
    `name_mapping` takes the place of the columns' names, and of any case that they may be in where it has other names.
    Raises ConfigError for a column type that cannot be written, and for columns that cannot be told apart in any case.
    """
    struct = struct_of(schema, name_mapping)
    if config.row_changes is not None and config.row_changes.keeps_changes:
        struct = replace(struct, fields=tuple(f for f in struct.fields if f.name not in WRITTEN))
    any_case = config.any_case and not has_aliases(struct)
    if any_case:
        check_any_case(schema)
    overrides = overrides_of(config.column_types)
    return DecodeSpec(
        overrides.mark(struct),
        config.evolve_schema,
        config.mapper_for(schema),
        no_more_columns,
        loosen=config.force_optional,
        any_case=any_case,
        legacy=config.legacy_conversion,
        overrides=overrides,
        most_new_columns=(config.max_new_columns_per_batch, MOST_NEW),
        path_types=True,
        empties="lenient",
    )


def discovery(config: IcebergSinkConfig) -> DecodeSpec:
    """Decoding that finds the columns which records need of a table that does not exist."""
    overrides = overrides_of(config.column_types)
    return replace(
        ANY_COLUMNS,
        struct=overrides.mark(ANY_COLUMNS.struct),
        overrides=overrides,
        most_new_columns=(config.max_columns, MOST),
        path_types=True,
        empties="lenient",
    )


def file_writer(config: IcebergSinkConfig, table: Table) -> DataFileWriter:
    """The writer of the table's data files."""
    access = sorted((key, value) for key, value in table.io.properties.items() if isinstance(value, str))
    return DataFileWriter(_slim(table), tuple(access), tuple(config.write_properties.items()))


def abandon(table: Table | None, files: Sequence[DataFile]) -> None:
    """Remove files that will not be committed; one that stays is an orphan, not wrong data."""
    if table is None:
        return
    for file in files:
        try:
            table.io.delete(file.file_path)
        except OSError as error:
            logger.warning("file %s of an abandoned run was not removed: %s", file.file_path, error)


def _slim(table: Table) -> str:
    """The metadata that a task needs: without snapshots, so that equal tables give equal text."""
    metadata = table.metadata.model_copy(
        update={
            "snapshots": [],
            "snapshot_log": [],
            "metadata_log": [],
            "refs": {},
            "current_snapshot_id": None,
            "last_sequence_number": 0,
            "last_updated_ms": 0,
            "properties": {k: v for k, v in table.properties.items() if not k.startswith("frazil.")},
        }
    )
    return metadata.model_dump_json()
