"""The verb `uninstall`."""

import sys
from typing import Annotated

import typer

from frazil.cli.ui.console import YesOption, consent, make_console
from frazil.cli.ui.output import Output, OutputOption, as_text, show_table
from frazil.cli.ui.program import verb
from frazil.cli.verbs.stack import services_in_use, stop_services
from frazil.environment.settings import Settings
from frazil.text.amounts import size


@verb("uninstall", "uninstall --dry-run", "uninstall --yes")
def uninstall(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be removed.")] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop all, and remove data, downloads and contexts.

    It shows first what that is and how large, and asks. Data in a store or a broker of somebody else stay, and so do
    the program and its packages, which whatever has installed them removes.
    """
    from frazil.stack.leftovers import leftovers, remove

    settings = Settings.load()
    console = make_console()
    found = leftovers(settings)
    if output is not Output.TABLE:
        told = [{"what": each.what, "folder": str(each.folder), "bytes": each.size} for each in found]
        typer.echo(as_text(told, output))
    elif found:
        rows = [(each.what, str(each.folder), size(each.size)) for each in found]
        show_table(("what", "folder", "size"), rows, numbers=("size",))
    else:
        console.print("There is nothing to remove.")
    if dry_run or not found:
        return
    consent(yes, "Remove all of it? It cannot be brought back.", "nothing was removed")
    messages = make_console(stderr=output is not Output.TABLE)
    stop_services(services_in_use(settings), messages)
    remove(settings)
    messages.print(
        f"Removed. The program and its packages are still in {sys.prefix}: `uv tool uninstall frazil`, `pip uninstall "
        "frazil` or the end of your clone does the rest."
    )
