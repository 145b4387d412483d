"""The verb `snapshot`: the rows of PostgreSQL into tables, from which Debezium's changes go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.env_file import EnvFileOption, variables_of
from frazil.cli.ui.letter_connectors import Connectors
from frazil.cli.ui.output import Output, OutputOption, as_text, show_table
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import Records, progress
from frazil.connectors.documents import read_document
from frazil.declare.definition import HIDDEN
from frazil.environment.extras import extra
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, ServiceUnavailable, UsageError

if TYPE_CHECKING:
    from frazil.cdc.snapshot import TableTaken

_CONNECTIONS = 2


@verb(
    "snapshot source.yaml users.yaml --env-file .env",
    "snapshot shop-source shop-tables",
    "snapshot s.yaml t.yaml -o json",
)
def snapshot(
    source: Annotated[str, typer.Argument(help="Debezium's connector for PostgreSQL: a file, or one of the worker.")],
    sink: Annotated[str, typer.Argument(help="The Iceberg connector of its topics: a file, or one of the worker.")],
    connections: Annotated[
        int, typer.Option("--connections", min=1, max=64, help="Connections to the database that read at once.")
    ] = _CONNECTIONS,
    env_file: EnvFileOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take the rows of PostgreSQL into Iceberg tables, from which Debezium's changes go on.

    Before Debezium starts: publication and slot of its configuration are made first, so that it brings each change
    since, with snapshot.mode=no_data. Several connections read ranges of each table as it is at one moment, straight to
    Parquet; a table has all of its rows by one commit, or none. Columns have the types that changes bring. After an
    interruption the same command goes on with the tables that are left. Tables that cannot be exact are named before
    anything is written.
    """
    with extra("postgres"):
        from frazil.cdc.snapshot import take_snapshot
    from frazil.connectors.connector import open_connector
    from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
    from frazil.declare.secrets import hide_secrets

    settings = Settings.load()
    variables = variables_of(env_file)
    providers = settings.providers()
    _, stored = _config(settings, source, variables)
    name, of_sink = _config(settings, sink, variables)
    resolved = providers.resolve(stored)
    try:
        with (
            open_connector(name, of_sink, settings, providers).hiding() as opened,
            progress(make_console(stderr=True)) as say,
        ):
            if not isinstance(opened.config, IcebergSinkConfig):
                raise UsageError(f"{sink} is no connector of Iceberg tables. Nothing was done.")
            found = take_snapshot(
                resolved.config,
                opened.config,
                of_sink,
                connections,
                lambda what, done, total: say(Records(what, done, total) if total else what),
            )
    except FrazilError as error:
        text = hide_secrets(str(error), resolved.config, resolved.secrets)
        if isinstance(error, ServiceUnavailable):
            text = f"{text.rstrip('.')}. Tables that have their rows keep them; the same command goes on"
        raise type(error)(text) from None
    if output is not Output.TABLE:
        typer.echo(as_text([asdict(one) for one in found], output))
    else:
        show(found)


def _config(settings: Settings, name: str, variables: Mapping[str, str] | None) -> tuple[str, Mapping[str, str]]:
    """A connector of a file, or of the worker, by its name. Raises UsageError for one that is not told whole."""
    if not Path(name).is_file():
        known = Connectors.known(settings, [name]).config_of(name)
        if hidden := [key for key, value in known.items() if HIDDEN in value]:
            raise UsageError(f"the worker hides {', '.join(hidden)} of {name}: give its file. Nothing was done.")
        return name, known
    document = read_document(name, variables=variables)
    return document.name, document.config


def show(found: list[TableTaken]) -> None:
    """Print a line for each table, and what comes next."""
    numbers = ("ROWS", "FILES", "SECONDS", "ROWS/S")
    show_table(
        ("DATABASE", "TABLE", *numbers),
        [
            (
                *(one.source, one.target),
                *(
                    (f"{one.rows:,}", f"{one.files:,}", f"{one.seconds:,.1f}", f"{one.rows / one.seconds:,.0f}")
                    if one.seconds
                    else ("had them", "", "", "")
                ),
            )
            for one in found
        ],
        numbers=numbers,
    )
    make_console().print(
        f"Debezium goes on from the slot {found[0].slot}, which keeps the database's log until then: apply both.",
        soft_wrap=True,
    )
