"""`verify --against`: tables compared with the PostgreSQL that they follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.output import Output, as_text, show_table
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import UsageError

if TYPE_CHECKING:
    from frazil.cdc.compare import Comparison

_SHOWN = 10
_SCHEMES = ("postgres", "postgresql")


def compare_with_database(
    settings: Settings, connectors: Mapping[str, Mapping[str, str]], address: str, output: Output
) -> bool:
    """Compare the tables of connectors with a PostgreSQL, print what is found, and tell whether all of them are equal.

    Raises UsageError for an address that is none, and where there is nothing to compare.
    """
    with progress(make_console(stderr=True)) as say:
        found = compared(settings, connectors, access_of(settings, address), say)
    if not found:
        raise UsageError(
            "no table of these connectors is named like a table of a topic PREFIX.SCHEMA.TABLE. Nothing was compared."
        )
    if output is not Output.TABLE:
        typer.echo(as_text([{**asdict(one), "equal": one.equal} for one in found], output))
    else:
        show_comparisons(found)
    return all(one.equal for one in found)


def access_of(settings: Settings, address: str) -> dict[str, Any]:
    """Parameters of a connection to an address; what it leaves out is that of the variables. Raises UsageError."""
    try:
        url = urlsplit(address)
        port = url.port
    except ValueError:
        url, port = urlsplit(""), None
    if url.scheme not in _SCHEMES or url.query or url.fragment:
        raise UsageError("--against: expected postgres://USER:PASSWORD@HOST:PORT/NAME, or postgres:// alone")
    given = {
        "host": url.hostname,
        "port": port,
        "user": unquote(url.username or ""),
        "password": unquote(url.password or ""),
        "dbname": unquote(url.path.lstrip("/")),
    }
    return {**settings.postgres_access(), **{name: value for name, value in given.items() if value}}


def compared(
    settings: Settings,
    connectors: Mapping[str, Mapping[str, str]],
    access: Mapping[str, Any],
    say: Callable[[str], None],
) -> list[Comparison]:
    """The comparisons of all tables that follow a table of the database; raises as `compare` does.

    Tables that keep each change are left out.
    """
    from frazil.cdc.compare import Database, compare, tables_of
    from frazil.clients import catalog as catalogs
    from frazil.connectors.connector import open_connector
    from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
    from frazil.connectors.iceberg.table.discover import tables_with_position
    from frazil.declare.providers import ConfigProviders

    providers = ConfigProviders.load(settings.config_providers, settings.env)
    found: list[Comparison] = []
    database = Database(access)
    try:
        for name, stored in connectors.items():
            with open_connector(name, stored, settings, providers).hiding() as sink:
                config = sink.config
                if not isinstance(config, IcebergSinkConfig):
                    continue
                catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
                names: Sequence[str] = config.tables or tables_with_position(catalog, config.name, config.topics)
                for table, (schema, source) in tables_of(config.topics, names).items():
                    mode = config.row_changes.mode_of(table) if config.row_changes is not None else ""
                    if mode == "append":
                        continue
                    loaded, versions = catalog.load_table(table), mode == "history"
                    found.append(compare(database, schema, source, loaded, say, versions=versions))
    finally:
        database.close()
    return found


def show_comparisons(found: Sequence[Comparison]) -> None:
    """Print a table, and the first keys that differ."""
    console = make_console()
    numbers = ("ROWS", "STORED", "MISSING", "SURPLUS", "OTHER", "DOUBLED")
    show_table(
        ("DATABASE", "TABLE", *numbers),
        [
            (
                *(one.source, one.target),
                *(
                    f"{n:,}"
                    for n in (one.rows, one.stored, *map(len, (one.missing, one.surplus, one.other)), one.doubled)
                ),
            )
            for one in found
        ],
        numbers=numbers,
        red=[index for index, one in enumerate(found) if not one.equal],
    )
    for one in found:
        for what, keys in (
            ("only in the database", one.missing),
            ("only in the table", one.surplus),
            ("other", one.other),
        ):
            if keys:
                shown = "; ".join(", ".join(f"{name}={value}" for name, value in key.items()) for key in keys[:_SHOWN])
                more = " …" if len(keys) > _SHOWN else ""
                console.print(f"{one.target}: {what}: {shown}{more}", soft_wrap=True)
        if one.absent:
            console.print(
                f"{one.target} has no column {', '.join(one.absent)}; its values count as null", soft_wrap=True
            )
    if all(one.equal for one in found):
        console.print("Each row of the database is in its table once, as it is, and no other row.")
