"""The verb `publish`: what a connector wrote to a branch becomes what readers of the table see."""

from dataclasses import asdict
from typing import Annotated

import typer

from frazil.cli.ui.output import Output, OutputOption, as_text
from frazil.cli.ui.program import verb
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.text.amounts import counted


@verb("publish apilogs --branch audit", "publish streaming.apilogs --branch audit")
def publish(
    table: Annotated[str, typer.Argument(help="Table, with or without its namespace.")],
    branch: Annotated[str, typer.Option("--branch", "-b", help="Branch whose commits are published.")],
    to: Annotated[str, typer.Option("--to", help="Branch that gets them.")] = "main",
    output: OutputOption = Output.TABLE,
) -> None:
    """Publish the commits of a branch.

    The other branch, main unless --to says another, moves forward to the head of BRANCH in one step; readers see all
    of it or nothing. It is refused when that branch has commits that BRANCH does not have, or changes meanwhile.
    """
    from frazil.clients.catalog import connect
    from frazil.connectors.iceberg.tools.publish import publish as move

    if branch == to:
        raise UsageError(f"--branch and --to are both {branch}; nothing was published")
    settings = Settings.load()
    name = table if "." in table else f"{settings.namespace}.{table}"
    done = move(connect(settings.catalog_properties()), name, branch, to)
    if output is not Output.TABLE:
        typer.echo(as_text(asdict(done), output))
    elif not done.commits:
        typer.echo(f"{to} of {name} is at the head of {branch} already")
    else:
        commits = counted(done.commits, "commit")
        rows = "" if done.rows is None else f", {abs(done.rows):,} rows {'fewer' if done.rows < 0 else 'more'}"
        typer.echo(f"{to} of {name} has {commits} of {branch} now{rows}; its head is {done.snapshot_id}")
