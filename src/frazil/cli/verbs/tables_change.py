"""The verbs of `tables` that change one: roll back, alter, branches and tags, rename, drop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.console import YesOption, consent
from frazil.cli.ui.table_access import TableArgument, Writers, open_table, told_by_catalog
from frazil.cli.verbs.tables import ALTER, BACK, MAIN, BranchOption, tables
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.text.amounts import counted
from frazil.text.instants import shown
from frazil.text.times import point_in_time

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from frazil.connectors.iceberg.tools.alter import Changes
    from frazil.connectors.iceberg.tools.refs import Rollback

_AtOption = Annotated[
    str | None,
    typer.Option("--at", help="Snapshot id, branch, tag, or a time (30m, 2026-11-28T10:30:00Z); main when left out."),
]
_DeleteOption = Annotated[bool, typer.Option("--delete", help="Remove it; its snapshots stay until they expire.")]


@tables("rollback", f"{BACK} --dry-run", BACK, "tables rollback orders --to 7351937202163126522 --keep-positions")
def rollback(
    table: TableArgument,
    to: Annotated[str, typer.Option("--to", help="Snapshot id, or a time: 2h, 2026-11-28T10:30:00Z.")],
    branch: BranchOption = MAIN,
    keep_positions: Annotated[
        bool,
        typer.Option("--keep-positions", help="Connectors do not read again what the table loses: it stays away."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would happen.")] = False,
    yes: YesOption = False,
) -> None:
    """Go back to an older snapshot; asks first.

    A table holds the positions of its connectors, so they go back as well: what the table loses is read from Kafka and
    stored again when they run. With --keep-positions it is not. Connectors have to be stopped before. The snapshots
    that the branch loses stay until they are expired: `tables branch TABLE NAME --at SNAPSHOT` keeps one.
    """
    from frazil.connectors.iceberg.tools.refs import plan_rollback, roll_back

    settings = Settings.load()
    catalog, found = open_table(settings, table)
    plan = plan_rollback(catalog, ".".join(found.name()), branch, lambda known: _chosen(found, known, to))
    for line in _told(plan, keep_positions):
        typer.echo(line)
    if not plan.taken or dry_run:
        typer.echo("nothing was changed")
        return
    Writers.ask(settings).require_rest(found, "it would store at once again what the table loses")
    consent(yes, f"Roll {branch} of {'.'.join(found.name())} back?")
    roll_back(plan, keep_positions=keep_positions)
    typer.echo(f"{branch} of {'.'.join(found.name())} is at snapshot {plan.target.snapshot_id} now")


def _chosen(table: Table, known: Sequence[Snapshot], text: str) -> Snapshot:
    """The snapshot of a branch that an id, or a time, means; the newest of that time. Raises UsageError."""
    name = ".".join(table.name())
    if text.isascii() and text.isdecimal():
        found = next((one for one in known if str(one.snapshot_id) == text), None)
        if found is None:
            raise UsageError(f"the branch of {name} has no snapshot {text}; `tables snapshots` lists them.")
        return found
    ref = table.refs().get(text)
    if ref is not None:
        return _chosen(table, known, str(ref.snapshot_id))
    moment = point_in_time(text, datetime.now(UTC))
    found = next((one for one in known if one.timestamp_ms <= moment.timestamp() * 1000), None)
    if found is None:
        oldest = shown(known[-1].timestamp_ms)
        raise UsageError(f"the branch of {name} had no snapshot at {moment.isoformat()}: its oldest is of {oldest}.")
    return found


def _told(plan: Rollback, keep_positions: bool) -> list[str]:
    from frazil.connectors.iceberg.tools.describe import told_rows, totals

    where = f"{plan.branch} of {'.'.join(plan.table.name())}"
    head, target = (
        f"{snapshot.snapshot_id} ({shown(snapshot.timestamp_ms)}, {told_rows(totals(snapshot))})"
        for snapshot in (plan.head, plan.target)
    )
    lines = [f"{where}: from snapshot {head} back to {target}: {counted(plan.taken, 'snapshot')} less"]
    for connector, (now, then) in plan.floors.items():
        for key, offset in sorted(now.offsets.items()):
            back = then.offsets.get(key, 0)
            if back < offset:
                records = counted(offset - back, "record")
                what = "will not be read again" if keep_positions else "will be read and stored again"
                position = f"stays at {offset:,}" if keep_positions else f"goes back from {offset:,} to {back:,}"
                lines.append(f"{connector}: its position in {key[0]}-{key[1]} {position}: {records} {what}")
    return lines


@tables(
    "alter",
    ALTER,
    "tables alter orders --rename state=status --drop note --yes",
    "tables alter orders --partition-by 'day(at), bucket(id, 16)'",
    "tables alter orders --set write.target-file-size-bytes=134217728 --unset comment",
)
def alter(
    table: TableArgument,
    add: Annotated[
        list[str] | None, typer.Option("--add", metavar="'NAME TYPE'", help="New column; may be repeated.")
    ] = None,
    rename: Annotated[list[str] | None, typer.Option("--rename", metavar="OLD=NEW", help="May be repeated.")] = None,
    widen: Annotated[
        list[str] | None,
        typer.Option("--widen", metavar="NAME=TYPE", help="int to long, float to double, more digits of a decimal."),
    ] = None,
    optional: Annotated[
        list[str] | None, typer.Option("--optional", metavar="NAME", help="The column may be null from now on.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option("--drop", metavar="NAME", help="Drop a column; asks first.")] = None,
    partition_by: Annotated[
        str | None,
        typer.Option("--partition-by", metavar="FIELDS", help="Partition fields from now on; '' for none."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="KEY=VALUE", help="Set a property of the table.")
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="Remove a property of the table.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be changed.")] = False,
    yes: YesOption = False,
) -> None:
    """Change columns, partitions and properties of a table.

    All of it or nothing. A column inside another is named `a.b`; types are those of frazil.schema.path.*. Data files
    stay as they are: a dropped column cannot be seen any more, and is in older snapshots still. --partition-by takes
    what the key `partition-by` of a sink does. Renaming and dropping are refused while a connector runs that writes to
    the table: it would make the column anew, or its records would not fit.
    """
    from frazil.connectors.iceberg.tools.alter import alter as change
    from frazil.connectors.iceberg.tools.alter import check_changes

    settings = Settings.load()
    _, found = open_table(settings, table)
    name = ".".join(found.name())
    changes = _changes(add, rename, widen, optional, drop, set_, unset, partition_by)
    check_changes(found, changes)
    for line in changes.told():
        typer.echo(f"  {line}")
    if changes.breaks_writers:
        Writers.ask(settings).require_rest(found, "it goes by the columns that the table has now")
    if dry_run:
        typer.echo("nothing was changed")
        return
    if changes.dropped:
        consent(yes, f"Drop {', '.join('.'.join(p) for p in changes.dropped)} of {name}?")
    change(found, changes)
    typer.echo(f"{name}: changed")


def _changes(
    add: Sequence[str] | None,
    rename: Sequence[str] | None,
    widen: Sequence[str] | None,
    optional: Sequence[str] | None,
    drop: Sequence[str] | None,
    set_: Sequence[str] | None,
    unset: Sequence[str] | None,
    partition_by: str | None,
) -> Changes:
    from frazil.connectors.iceberg.config.creation import partition_terms
    from frazil.connectors.iceberg.tools.alter import Changes, parse_type

    try:
        partition = None if partition_by is None else partition_terms(partition_by)
    except ValueError as error:
        raise UsageError(f"--partition-by: {error}. Nothing was changed.") from None

    return Changes(
        {_path(name): parse_type(type_) for name, type_ in _pairs("--add", add, " ")},
        {_path(name): new for name, new in _pairs("--rename", rename)},
        {_path(name): parse_type(type_) for name, type_ in _pairs("--widen", widen)},
        [_path(name) for name in optional or ()],
        [_path(name) for name in drop or ()],
        dict(_pairs("--set", set_)),
        list(unset or ()),
        partition,
    )


def _pairs(option: str, texts: Sequence[str] | None, separator: str = "=") -> list[tuple[str, str]]:
    found = []
    for text in texts or ():
        name, between, value = text.strip().partition(separator)
        if not (between and name.strip() and value.strip()):
            form = "'NAME TYPE'" if separator == " " else "NAME=VALUE"
            raise UsageError(f"{option} {text}: expected {form}. Nothing was changed.")
        found.append((name.strip(), value.strip()))
    return found


def _path(text: str) -> tuple[str, ...]:
    from frazil.text.field_path import field_path

    try:
        names = field_path(text, "V2")
    except ValueError as error:
        raise UsageError(f"{text}: {error}. Nothing was changed.") from None
    if not all(names):
        raise UsageError(f"{text!r} is no name of a column. Nothing was changed.")
    return names


@tables("branch", "tables branch orders audit", "tables branch orders audit --delete")
def branch(
    table: TableArgument,
    name: Annotated[str, typer.Argument(help="Branch.")],
    at: _AtOption = None,
    delete: _DeleteOption = False,
) -> None:
    """Make a branch of a table, or remove one.

    `publish` makes its commits those of main.
    """
    _change_ref(table, name, at, delete, tag=False)


@tables("tag", "tables tag orders end-of-november --at 2026-12-01", "tables tag orders end-of-november --delete")
def tag(
    table: TableArgument,
    name: Annotated[str, typer.Argument(help="Tag.")],
    at: _AtOption = None,
    delete: _DeleteOption = False,
) -> None:
    """Give a snapshot a name, or take it away.

    Expiry of snapshots leaves it alone while it has one.
    """
    _change_ref(table, name, at, delete, tag=True)


def _change_ref(table: str, ref: str, at: str | None, delete: bool, *, tag: bool) -> None:
    from frazil.connectors.iceberg.table.commit import history
    from frazil.connectors.iceberg.tools.describe import newest_first
    from frazil.connectors.iceberg.tools.refs import add_ref, remove_ref

    settings = Settings.load()
    _, found = open_table(settings, table)
    name = ".".join(found.name())
    if delete:
        if at is not None:
            raise UsageError("--at is for what is made, not for --delete. Nothing was changed.")
        if not tag:
            Writers.ask(settings).require_rest(found, "it may write to the branch")
        remove_ref(found, ref, tag=tag)
        typer.echo(f"{ref} of {name}: removed")
        return
    known = list(history(found, MAIN))
    if at is not None and at.isdecimal():
        known = newest_first(found)
    if not known:
        raise UsageError(f"{name} has no snapshots, so it can have no {'tag' if tag else 'branch'}. Nothing was made.")
    snapshot = known[0] if at is None else _chosen(found, known, at)
    add_ref(found, ref, snapshot, tag=tag)
    typer.echo(f"{ref} of {name}: made at snapshot {snapshot.snapshot_id} ({shown(snapshot.timestamp_ms)})")


@tables("drop", "tables drop orders", "tables drop orders --purge --yes")
def drop(
    table: TableArgument,
    purge: Annotated[
        bool, typer.Option("--purge", help="The catalog is to remove data files too; otherwise they stay in the store.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Drop a table with its snapshots; asks first.

    It is refused while a connector runs that writes to it. The position of its connectors goes with it. A connector
    that makes its tables makes it anew, empty, and goes on where its consumer group is: `offsets reset` before lets it
    store again all that its topics have.
    """
    from frazil.connectors.iceberg.tools.describe import told_rows, totals

    settings = Settings.load()
    catalog, found = open_table(settings, table)
    name = ".".join(found.name())
    Writers.ask(settings).require_rest(found, "its next commit would fail, or make the table anew")
    rows = told_rows(totals(found.current_snapshot()))
    consent(yes, f"Drop {name} with {rows}{' and its files' if purge else ''}?")
    act = catalog.purge_table if purge else catalog.drop_table
    told_by_catalog(lambda: act(name), settings, f"to drop {name}")
    typer.echo(f"{name}: dropped" + ("" if purge else f"; its files are still at {found.location()}"))


@tables("rename", "tables rename orders orders_old")
def rename(
    table: TableArgument,
    new: Annotated[str, typer.Argument(help="Its new name, in the same namespace unless it has another one.")],
) -> None:
    """Rename a table; files, snapshots and positions of connectors go with it.

    It is refused while a connector runs that writes to it. A connector writes to the table that its configuration
    names: change that too before it runs again.
    """
    settings = Settings.load()
    catalog, found = open_table(settings, table)
    name = ".".join(found.name())
    wanted = new if "." in new else ".".join((*found.name()[:-1], new))
    writers = Writers.ask(settings)
    writers.require_rest(found, "its next commit would fail, or make the table anew")
    told_by_catalog(lambda: catalog.rename_table(name, wanted), settings, f"to rename {name} to {wanted}")
    typer.echo(f"{name}: is {wanted} now")
    for writer in sorted(writers.of(found).keys() & writers.connectors.keys()):
        typer.echo(f"connector {writer} still names {name}: `patch connector {writer} -s iceberg.tables={wanted}`")
