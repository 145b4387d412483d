"""Checks of the tables of a connector, by what the catalog tells before it runs."""

from collections.abc import Sequence
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import BadRequestError, ForbiddenError, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table

from frazil.clients import catalog as catalogs
from frazil.clients.catalog import catalog_errors
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.config.row_changes import no_keys
from frazil.connectors.iceberg.table.discover import tables_with_position
from frazil.connectors.iceberg.tools.describe import totals
from frazil.connectors.iceberg.tools.trial import table_branch
from frazil.connectors.sink import Concern
from frazil.errors import ConfigError, NotFound

_MANY_FILES, _SMALL_BYTES, _MANY_DELETES = 1_000, 8_000_000, 500


def missing_tables(config: IcebergSinkConfig) -> list[str]:
    """Texts about tables that neither exist nor would be created.

    Raises ConfigError when the catalog refuses the warehouse or the access keys, ServiceUnavailable.
    """
    catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
    missing = [text for _, found, text in _looked_up(config, catalog, config.tables) if found is None]
    if missing:
        _check_warehouse(catalog)
    return [] if config.auto_create else missing


def without_keys(config: IcebergSinkConfig) -> list[str]:
    """Texts about tables whose rows would change without columns that identify them. Raises as `missing_tables`."""
    changes = config.row_changes
    if changes is None:
        return []
    named = (name for name in config.tables if changes.mode_of(name) != "append")
    unnamed = [name for name in named if not changes.id_columns_of(name)]
    if not unnamed:
        return []
    made_without = config.auto_create and not changes.events
    catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
    return [
        no_keys(name)
        for name, table, _ in _looked_up(config, catalog, unnamed)
        if (made_without if table is None else not table.schema().identifier_field_ids)
    ]


def small_files(config: IcebergSinkConfig) -> list[Concern]:
    """Tables whose files have become many and small, or have many deletes. Raises as `missing_tables`."""
    catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
    names = tables_with_position(catalog, config.name) if config.names_tables else config.tables
    found = []
    for name, table, _ in _looked_up(config, catalog, names):
        figures = {} if table is None else totals(table.metadata.snapshot_by_name(config.branch_of(name)))
        files, size, deletes = (figures.get(key, 0) for key in ("data_files", "bytes", "delete_files"))
        if (files >= _MANY_FILES and size / files < _SMALL_BYTES) or deletes >= _MANY_DELETES:
            what = f"table {name} has {files:,} data files of {size / max(files, 1) / 1e6:,.1f} MB on average"
            found.append(
                Concern(
                    f"{what} and {deletes:,} delete files" if deletes else what,
                    "queries and commits get slower with each file",
                    f"run `maintain {name}`, or let the connector do it: frazil.maintenance.interval.ms",
                )
            )
    return found


def _check_warehouse(catalog: Catalog) -> None:
    """Raise ConfigError when the catalog has no such warehouse: some tell only when they are asked for what is in it.

    Who may not list what is there may have access to tables all the same.
    """
    with catalog_errors(catalog.properties, "its namespaces"), suppress(ForbiddenError):
        try:
            catalog.list_namespaces()
        except (NoSuchTableError, NoSuchNamespaceError, BadRequestError) as error:
            uri, warehouse = (catalog.properties.get(name) for name in ("uri", "warehouse"))
            wrong = f"the Iceberg catalog at {uri} has no warehouse {warehouse!r} ({error})"
            raise ConfigError(f"{wrong}; correct iceberg.catalog.warehouse") from error


def _looked_up(
    config: IcebergSinkConfig, catalog: Catalog, names: Sequence[str]
) -> list[tuple[str, Table | None, str]]:
    """Each table, or None with the text about one that does not exist."""
    found: list[tuple[str, Table | None, str]] = []
    for name in names:
        try:
            found.append((name, table_branch(config, catalog, name).load(), ""))
        except NotFound as error:
            found.append((name, None, str(error)))
    return found
