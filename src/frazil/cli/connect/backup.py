"""The verbs `backup` and `restore`."""

from pathlib import Path
from typing import Annotated

import typer

from frazil.cli.connect.outcome import tell_failed
from frazil.cli.connect.session import ContextOption, connect
from frazil.cli.ui.console import DryRunOption
from frazil.cli.ui.program import verb
from frazil.environment.private_file import write_private
from frazil.errors import UsageError
from frazil.text.amounts import counted

_BACKUP, _RESTORE = "backup connectors.backup", "restore connectors.backup"


@verb(_BACKUP)
def backup(
    file: Annotated[Path, typer.Argument(help="File to write.")],
    context: ContextOption = None,
) -> None:
    """Save all connectors with their states and positions into a file that only you can read.

    Records stay in Kafka, and tables and objects in their store: back these up with their own means. Passwords that
    stand in configurations are in the file.
    """
    from frazil.connectors.backup import take

    with connect(context) as client:
        taken = take(client)
    try:
        write_private(file, taken.encoded())
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}. Nothing was saved.") from None
    count = len(taken.connectors)
    typer.echo(f"{counted(count, 'connector')} of Kafka cluster {taken.kafka_cluster_id} in {file}")


@verb(f"{_RESTORE} --dry-run", _RESTORE)
def restore(
    file: Annotated[Path, typer.Argument(help="File that `backup` has written.")],
    dry_run: DryRunOption = False,
    context: ContextOption = None,
) -> None:
    """Create the connectors of a backup that the worker does not have.

    One that is there stays as it is. frazil's sinks find their positions in what they have stored, so nothing is lost
    or doubled; a source gets the position of the backup where it has none, unless Kafka is another cluster than it was:
    then it stays STOPPED. The exit code is 1 when one could not be created, or has FAILED.
    """
    from frazil.connectors.backup import decoded
    from frazil.connectors.backup import restore as bring_back

    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}. Nothing was changed.") from None
    taken = decoded(content, str(file))
    failed, there = 0, []
    with connect(context) as client:
        for name, told, done in bring_back(client, taken, dry_run=dry_run):
            typer.echo(f"{name}: {told}" if done else f"frazil: {name}: {told}", err=not done)
            failed += not done
            there += [name] if done and not dry_run else []
        failed += tell_failed(client, there)
    if dry_run:
        typer.echo("nothing was changed")
    if failed:
        raise typer.Exit(1)
