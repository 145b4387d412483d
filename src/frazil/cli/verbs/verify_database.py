"""`verify --against`: tables compared with the PostgreSQL that they follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import typer

from frazil.cli.ui.console import consent, make_console
from frazil.cli.ui.output import Output, as_text, show_table
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.cdc.compare import Comparison
    from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
    from frazil.connectors.iceberg.table.commit import TableBranch

_SHOWN = 10
_SCHEMES = ("postgres", "postgresql")

Say = Callable[[str], None]


def compare_with_database(
    settings: Settings,
    connectors: Mapping[str, Mapping[str, str]],
    address: str,
    output: Output,
    *,
    delete: bool = False,
    yes: bool = False,
) -> bool:
    """Compare the tables of connectors with a PostgreSQL, print what is found, and tell whether all of them are equal.

    With `delete` surplus rows are deleted then, when the user consents. Raises UsageError for an address that is none,
    where there is nothing to compare, and where nobody can be asked.
    """
    access = access_of(settings, address)
    with progress(make_console(stderr=True)) as say:
        found = compared(settings, connectors, access, say)
    if not found:
        raise UsageError(
            "no table of these connectors is named like a table of a topic PREFIX.SCHEMA.TABLE. Nothing was compared."
        )
    if output is Output.TABLE:
        show_comparisons(found)
    surplus = [one for one in found if one.surplus and not one.versions]
    if delete and surplus:
        rows = counted(sum(len(one.surplus) for one in surplus), "row")
        names = ", ".join(one.target for one in surplus)
        consent(yes, f"Delete {rows} of {names} that the database does not have?", "nothing was deleted")
        with progress(make_console(stderr=True)) as say:
            delete_all(settings, connectors, access, surplus, say)
    if output is not Output.TABLE:
        typer.echo(as_text([{**asdict(one), "equal": one.equal} for one in found], output))
    elif delete:
        show_deleted(found)
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
    settings: Settings, connectors: Mapping[str, Mapping[str, str]], access: Mapping[str, Any], say: Say
) -> list[Comparison]:
    """The comparisons of all tables that follow a table of the database; raises as `compare` does.

    Tables that keep each change are left out.
    """
    from frazil.cdc.compare import Database, compare
    from frazil.clients.postgres import database_errors

    found: list[Comparison] = []
    with database_errors(), closing(Database(access)) as database:

        def add(config: IcebergSinkConfig, target: TableBranch, sources: Sequence[tuple[str, str]]) -> None:
            mode = config.row_changes.mode_of(target.name) if config.row_changes is not None else ""
            if mode != "append":
                versions, typed = mode == "history", config.envelope is not None
                table, branch = target.load(), target.branch
                source = next((each for each in sources if database.has(*each)), sources[0])
                found.append(compare(database, *source, table, say, branch=branch, versions=versions, typed=typed))

        _each_table(settings, connectors, add)
    return found


def delete_all(
    settings: Settings,
    connectors: Mapping[str, Mapping[str, str]],
    access: Mapping[str, Any],
    found: Sequence[Comparison],
    say: Say,
) -> None:
    """Delete the surplus rows of comparisons; raises as `delete_surplus` does."""
    from frazil.cdc.surplus import delete_surplus
    from frazil.clients.postgres import database_errors

    by_target = {one.target: one for one in found}

    def delete(config: IcebergSinkConfig, target: TableBranch, sources: Sequence[tuple[str, str]]) -> None:
        one = by_target.pop(target.name, None)
        if one is not None:
            (source,) = (each for each in sources if ".".join(each) == one.source)
            delete_surplus(config, target, access, source, one, say)

    with database_errors():
        _each_table(settings, connectors, delete)


def _each_table(
    settings: Settings,
    connectors: Mapping[str, Mapping[str, str]],
    do: Callable[[IcebergSinkConfig, TableBranch, Sequence[tuple[str, str]]], None],
) -> None:
    """Do something for each table that follows one of the database, given by the schemas and names that it may have."""
    from frazil.cdc.compare import tables_of
    from frazil.clients import catalog as catalogs
    from frazil.connectors.connector import open_connector
    from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
    from frazil.connectors.iceberg.table.discover import tables_with_position
    from frazil.connectors.iceberg.tools.trial import table_branch

    for name, stored in connectors.items():
        with open_connector(name, stored, settings, settings.providers()).hiding() as sink:
            config = sink.config
            if not isinstance(config, IcebergSinkConfig):
                continue
            catalog = catalogs.connect(config.catalog_properties, config.catalog_name)
            names: Sequence[str] = config.tables or tables_with_position(catalog, config.name, config.topics)
            for table, sources in tables_of(config.topics, names).items():
                do(config, table_branch(config, catalog, table), sources)


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


def show_deleted(found: Sequence[Comparison]) -> None:
    """Print what was deleted, and what was not."""
    console = make_console()
    for one in found:
        if one.deleted:
            console.print(f"{one.target}: {counted(one.deleted, 'row')} deleted", soft_wrap=True)
        if one.surplus:
            why = "it keeps versions" if one.versions else "the database has them by now"
            console.print(f"{one.target}: {counted(len(one.surplus), 'row')} left: {why}", soft_wrap=True)
