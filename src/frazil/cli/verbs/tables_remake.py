"""The verb `tables remake`: a table anew from the topics of its connector, which takes the place of the old one."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.connect.change import changes_between
from frazil.cli.connect.lifecycle import Goal, until_state, until_stored
from frazil.cli.ui.arguments import keys_and_values
from frazil.cli.ui.console import DryRunOption, YesOption, consent, make_console
from frazil.cli.ui.progress import progress
from frazil.cli.ui.table_access import TableArgument, open_table, told_by_catalog
from frazil.cli.verbs.tables import tables
from frazil.environment.settings import Settings
from frazil.errors import NotFound, UsageError
from frazil.text.amounts import counted
from frazil.text.times import seconds

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from frazil.clients.connect import ConnectClient

_TABLES, _CREATES = "iceberg.tables", "iceberg.tables.auto-create-enabled"
_FROM_THE_BEGINNING = ("consumer.override.group.id", "consumer.override.auto.offset.reset")
_STOP_S = 120.0
_SAMPLED = 200
REMAKE = "tables remake shop.orders -s 'frazil.schema.path.price=decimal(10,2)'"


@dataclass(frozen=True)
class _Names:
    """Names of what takes part: the table, and its connectors before and after."""

    table: str
    old: str
    new: str

    @property
    def staged(self) -> str:
        """The new table until it takes the place."""
        return f"{self.table}_remake"

    @property
    def kept(self) -> str:
        """The old table from then on."""
        return f"{self.table}_before"


@tables(
    "remake", f"{REMAKE} --dry-run", REMAKE, "tables remake orders -s iceberg.tables.default-partition-by='day(at)'"
)
def remake(
    table: TableArgument,
    set_: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="KEY=VALUE", help="Key of the connector to set.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", "-r", metavar="KEY", help="Key of the connector to remove.")
    ] = None,
    timeout: Annotated[str, typer.Option("--timeout", help="Time to catch up at most: 90s, 10m, 2h.")] = "2h",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Make a table anew from its topics, and let it take the place of the old one; asks first.

    A second connector (`orders-2` for `orders`), with the keys that are set and removed, stores what its topics have
    from their beginning in TABLE_remake, while the old table is read and written as before. When it has caught up, the
    differences are told. Then both connectors stop, the tables change names (the old one is TABLE_before, and for a
    moment there is none of its name), the new connector goes on, and the old one is deleted. What the topics have lost
    is in the old table alone. Repeat the command after any failure: it goes on where it was.
    """
    from frazil.clients.catalog import connect
    from frazil.clients.connect import ConnectClient
    from frazil.connectors.iceberg.tools.describe import named_tables

    settings = Settings.load()
    changes: dict[str, str | None] = {**keys_and_values(set_ or (), "Nothing was changed.")}
    changes |= dict.fromkeys(remove or ())
    catalog = connect(settings.catalog_properties())
    with ConnectClient(settings.connect_access) as client:
        configs = {name: client.config(name) for name in client.connectors()}
        wanted = table if "." in table else f"{settings.namespace}.{table}"
        if not any(wanted in named_tables(config) for config in configs.values()):
            open_table(settings, table)  # which tells what may be meant
        names = _names(wanted, configs)
        if names.new not in configs:
            if not _begun(client, catalog, settings, names, configs[names.old], changes, dry_run=dry_run):
                return
        else:
            _same_as_before(names, configs[names.new], changes)
            typer.echo(f"{names.new}: is there already, and {'would go' if dry_run else 'goes'} on")
            if dry_run:
                return
        if client.config(names.new)[_TABLES] == names.staged:
            begun = catalog.table_exists(names.kept)
            if not begun:
                _fill(client, catalog, settings, names, timeout, yes=yes)
            _swap(client, catalog, settings, names)
        client.resume(names.new)
        if names.old in client.connectors():
            client.delete(names.old)
    typer.echo(
        f"{names.table}: is stored by {names.new} now; `tables drop {names.kept}` when it is not needed any more"
    )


def _names(table: str, configs: Mapping[str, Mapping[str, str]]) -> _Names:
    """The connector of a table, and that which takes its place, whether it is there or not. Raises UsageError."""
    from frazil.connectors.iceberg.tools.describe import named_tables

    named = {name: named_tables(config) for name, config in configs.items()}
    writing = [name for name, known in named.items() if table in known]
    olds = [name for name in writing if not any(_next(other) == name for other in writing)]
    if len(olds) != 1 or named[olds[0]] != [table]:
        raise UsageError(
            f"{table} has to be the only table of one connector, and {', '.join(writing) or 'no connector'} of this "
            "worker writes to it. Nothing was changed."
        )
    names = _Names(table, olds[0], _next(olds[0]))
    if named.get(names.new, [table]) not in ([table], [names.staged]):
        raise UsageError(f"connector {names.new} is there already, for other tables. Nothing was changed.")
    return names


def _same_as_before(names: _Names, config: Mapping[str, str], changes: Mapping[str, str | None]) -> None:
    """Raises UsageError where a remake that has begun has other keys than those that are given now."""
    given = {key: value or "" for key, value in changes.items()}
    wanted = _renamed(given, names.table, config[_TABLES])
    others = sorted(key for key in wanted if key != _TABLES and config.get(key, "") != wanted[key])
    if others:
        raise UsageError(
            f"{names.new} is there already, with another {' and '.join(others)}. Leave the keys out to go on with it, "
            f"or give it up: `delete connector {names.new}`, and `tables drop {names.staged}` if there is one. Nothing "
            "was changed."
        )


def _next(connector: str) -> str:
    base, number = re.fullmatch(r"(.*?)(?:-(\d{1,9}))?", connector, re.DOTALL).groups("1")  # type: ignore[union-attr]
    return f"{base}-{int(number) + 1}"


def _begun(
    client: ConnectClient,
    catalog: Catalog,
    settings: Settings,
    names: _Names,
    old: Mapping[str, str],
    changes: Mapping[str, str | None],
    *,
    dry_run: bool,
) -> bool:
    """Create the new connector, whose changes are told; no after a dry run. Raises UsageError or ConfigError."""
    from frazil.connectors.iceberg.table.taken import taken_topics

    missing = [key for key, value in changes.items() if value is None and key not in old]
    if missing:
        raise UsageError(f"{names.old} has no {' and no '.join(missing)} to remove. Nothing was changed.")
    if all(old.get(key) == value for key, value in changes.items()):
        raise UsageError("it would be the same table: give --set KEY=VALUE or --remove KEY. Nothing was changed.")
    for taken in (names.staged, names.kept):
        if catalog.table_exists(taken):
            raise UsageError(f"there is a table {taken}: drop or rename it. Nothing was changed.")
    if not catalog.table_exists(names.table):
        raise NotFound(f"there is no table {names.table}. Nothing was changed.")
    if taken_topics(catalog.load_table(names.table)):
        raise UsageError(
            f"rows of {names.table} were taken from the database, and are in no topic: take a snapshot into another "
            "table. Nothing was changed."
        )
    merged = {key: value for key, value in {**old, **changes}.items() if value is not None}
    config = _renamed(merged, names.table, names.staged) | {"name": names.new, _CREATES: "true"}
    config = {key: value for key, value in config.items() if key not in _FROM_THE_BEGINNING}
    for line in changes_between(old, config):
        typer.echo(f"  {line}")
    errors = client.validate(config) if dry_run else []
    for error in errors:
        typer.echo(f"  ! {error}")
    if errors:
        typer.echo(f"{names.new}: would be refused; nothing was changed")
        raise typer.Exit(1)
    _try(settings, names, config)
    if dry_run:
        typer.echo(f"{names.new}: would be created; nothing was changed")
        return False
    client.create(names.new, config, Goal.STOPPED)
    typer.echo(f"{names.new}: created, and fills {names.staged}")
    return True


def _try(settings: Settings, names: _Names, config: Mapping[str, str]) -> None:
    """Tell which of the newest records would be dead letters. Raises UsageError where all would."""
    from frazil.connectors.connector import open_connector
    from frazil.engine.on_demand import spark_on_demand

    connector = open_connector(names.new, config, settings, settings.providers())
    console = make_console(stderr=True)
    with progress(console) as say, spark_on_demand(settings, names.new) as on_spark, connector.hiding() as sink:
        found = sink.sample(_SAMPLED, 0, say, on_spark)
    dead = [each for each in found.judged if each.verdict == "dead letter"]
    if not dead:
        return
    records = f"{len(dead):,} of the newest {counted(len(found.judged), 'record')} would be dead letters"
    first = f"offset {dead[0].offset} of {dead[0].topic}, partition {dead[0].partition}: {dead[0].reason}"
    if len(dead) == len(found.judged):
        raise UsageError(f"{records}, such as {first}. Nothing was changed.")
    typer.echo(f"  ? {records}, such as {first}")


def _renamed(config: Mapping[str, str], table: str, other: str) -> dict[str, str]:
    """A configuration for another table in the place of its only one."""
    mine = f"iceberg.table.{table}."
    keys = {f"iceberg.table.{other}.{key.removeprefix(mine)}" if key.startswith(mine) else key: key for key in config}
    return {new: config[old] for new, old in keys.items()} | {_TABLES: other}


def _fill(
    client: ConnectClient, catalog: Catalog, settings: Settings, names: _Names, timeout: str, *, yes: bool
) -> None:
    """Wait until the new table has all, tell how it differs, and ask."""
    from frazil.connectors.iceberg.tools.describe import differences, told_rows, totals

    if not catalog.table_exists(names.staged):
        client.stop(names.new)
        until_state(client, names.new, Goal.STOPPED, time.monotonic() + _STOP_S)
        client.reset_offsets(names.new)  # a connector of that name may have been there before
    client.resume(names.new)
    until_state(client, names.new, Goal.RUNNING, time.monotonic() + _STOP_S)
    typer.echo(f"{names.new}: stores what its topics have; `status` shows how far it is, and its dead letters")
    with progress(make_console(stderr=True)) as say:
        until_stored(client, settings, names.new, Goal.CAUGHT_UP, time.monotonic() + seconds(timeout), say)
    if not catalog.table_exists(names.staged):
        raise UsageError(
            f"{names.new} has read all and stored nothing, so there is no {names.staged}: `deadletters list` and `logs "
            f"worker` may say why. Give up with `delete connector {names.new}`."
        )
    before, after = catalog.load_table(names.table), catalog.load_table(names.staged)
    for line in differences(before, after):
        typer.echo(f"  {line}")
    rows = [told_rows(totals(one.current_snapshot())) for one in (before, after)]
    typer.echo(f"{names.table}: {rows[0]} before, {rows[1]} in {names.staged}")
    typer.echo(f"`deadletters list --connector {names.new}` tells what it could not store.")
    consent(
        yes,
        f"Let {names.staged} take the place of {names.table}?",
        f"repeat this to go on, or give up with `delete connector {names.new}` and `tables drop {names.staged}`",
    )


def _swap(client: ConnectClient, catalog: Catalog, settings: Settings, names: _Names) -> None:
    """Give the tables their new names, those that have not got them, and the connector its table."""
    from frazil.connectors.iceberg.tools.describe import committers

    for connector in (names.old, names.new):
        client.stop(connector)
    for connector in (names.old, names.new):
        until_state(client, connector, Goal.STOPPED, time.monotonic() + _STOP_S)

    def rename(table: str, wanted: str) -> None:
        told_by_catalog(lambda: catalog.rename_table(table, wanted), settings, f"to rename {table} to {wanted}")
        typer.echo(f"{table}: is {wanted} now")

    if catalog.table_exists(names.staged):
        if catalog.table_exists(names.table):
            rename(names.table, names.kept)
        rename(names.staged, names.table)
    elif names.new not in committers(catalog.load_table(names.table)):
        raise UsageError(f"{names.staged} is gone, and {names.new} has not stored {names.table}. Nothing was changed.")
    old = client.config(names.old)
    config = _renamed(client.config(names.new), names.staged, names.table)
    config = {key: value for key, value in config.items() if key != _CREATES} | {
        key: old[key] for key in (_CREATES, _FROM_THE_BEGINNING[1]) if key in old
    }
    client.put_config(names.new, config)
