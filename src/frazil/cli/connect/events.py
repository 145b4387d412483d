"""The verb `events`."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from frazil.cli.connect.session import ContextOption, complete_connectors, connect
from frazil.cli.ui.output import Output, OutputOption, show
from frazil.cli.ui.program import verb
from frazil.text.events import KEPT


@verb("events", "events iceberg-sink-apilogs -n 200", "events -o json")
def events(
    connector: Annotated[
        str | None, typer.Argument(help="Connector; all when left out.", autocompletion=complete_connectors)
    ] = None,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=KEPT, help=f"Events at most; a worker keeps {KEPT:,}.")
    ] = 50,
    output: OutputOption = Output.TABLE,
    context: ContextOption = None,
) -> None:
    """Show what happened, newest first: started, failed, changed, by whom.

    Of a group, each worker tells its own.
    """
    with connect(context) as client:
        found = client.events(connector, count)
    rows = [
        (
            f"{datetime.fromtimestamp(each['at'], UTC):%Y-%m-%dT%H:%M:%SZ}",
            each["kind"],
            each["connector"] or "-",
            " from ".join(filter(None, (each["user"], each["client"]))) or "-",
            each["message"],
        )
        for each in found
    ]
    if not rows and output is Output.TABLE:
        typer.echo(f"There are no events of connector {connector}." if connector else "There are no events.")
        return
    show(output, found, ("time", "event", "connector", "by", "message"), rows)
