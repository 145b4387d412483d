"""The verbs `export` and `diff`: connectors as files that `apply` takes, and how these differ from what runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from frazil.cli.connect.change import FilesOption, NameOption, changes_between, wanted_of, without_file
from frazil.cli.connect.session import ContextOption, RegexOption, chosen, complete_connectors, connect
from frazil.cli.connect.shown import plain_secrets
from frazil.cli.ui.env_file import EnvFileOption, variables_of
from frazil.cli.ui.output import Output, as_text
from frazil.cli.ui.program import verb
from frazil.connectors.documents import read_documents
from frazil.declare.definition import HIDDEN
from frazil.errors import NotFound, UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient

_STATES = ("PAUSED", "STOPPED")


@verb("export", "export --to connectors/  # a file for each", "export iceberg-sink-apilogs", "export -o json")
def export(
    names: Annotated[
        list[str] | None, typer.Argument(help="Connectors; all when left out.", autocompletion=complete_connectors)
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="Folder for a file of each; one document after the other otherwise.")
    ] = None,
    regex: RegexOption = False,
    output: Annotated[
        Output, typer.Option("--output", "-o", metavar="[yaml|json]", help="Form of the files.")
    ] = Output.YAML,
    context: ContextOption = None,
) -> None:
    """Write connectors as files for `apply`.

    Also for that of another worker. Each is as it is stored: placeholders stay placeholders, and a password that stands
    in it is in the file, which only you can read. A connector that is paused or stopped is made so. Positions are not
    in the files: `backup` has them.
    """
    if output not in (Output.YAML, Output.JSON):
        raise UsageError("-o is yaml or json. Nothing was written.")
    with connect(context) as client:
        known = client.connectors()
        wanted = chosen(client, names, regex) if names else known
        documents = {name: _document(client, name) for name in wanted}
    secrets = {name: plain_secrets(one["config"]) for name, one in documents.items()}
    if to is None:
        if output is Output.JSON:
            typer.echo(as_text(list(documents.values()), output))
        else:
            typer.echo("\n---\n".join(as_text(one, output) for one in documents.values()))
    else:
        _write(to, documents, output)
    for name, keys in secrets.items():
        if keys:
            masked = HIDDEN in documents[name]["config"][keys[0]]
            word = "is hidden by the worker; write it in for another one" if masked else "stands in it; keep it safe"
            typer.echo(f"{name}: {', '.join(keys)} {word}", err=True)


def _document(client: ConnectClient, name: str) -> dict[str, Any]:
    state = client.status(name)["connector"]["state"]
    config = {key: value for key, value in sorted(client.config(name).items()) if key != "name"}
    found: dict[str, Any] = {"name": name, "config": config}
    return {**found, "initial_state": state} if state in _STATES else found


def _write(folder: Path, documents: dict[str, dict[str, Any]], output: Output) -> None:
    from frazil.environment.private_file import write_private

    for name, document in documents.items():
        file = folder / f"{quote(name, safe='')}.{output.value}"
        try:
            write_private(file, as_text(document, output) + "\n")
        except OSError as error:
            raise UsageError(
                f"{file} cannot be written: {error.strerror or error}. Those before it are written."
            ) from None
        typer.echo(f"{name}: {file}")


@verb("diff -f sink.yaml -f other.json", "diff -f connectors/ --prune")
def diff(
    files: FilesOption,
    name: NameOption = None,
    prune: Annotated[bool, typer.Option("--prune", help="Compare as `apply --prune` would: all connectors.")] = False,
    env_file: EnvFileOption = None,
    context: ContextOption = None,
) -> None:
    """Compare connectors in files with those of the worker.

    Nothing is sent; `apply --dry-run` also checks what would change. The exit code is 1 when something differs: a key,
    a connector that is only in the files, or with --prune one that is in none of them.
    """
    documents = read_documents(files, sys.stdin, name, variables=variables_of(env_file))
    differ = 0
    with connect(context) as client:
        for document in documents:
            try:
                before = client.config(document.name)
            except NotFound:
                before = {}
            lines = changes_between(before, wanted_of(document, before))
            if not before:
                typer.echo(f"{document.name}: only in {document.source}")
            elif lines:
                typer.echo(f"{document.name}: differs from {document.source}")
                typer.echo("\n".join(f"  {line}" for line in lines))
            differ += bool(lines)
        for other in without_file(client, documents) if prune else ():
            typer.echo(f"{other}: in none of the files")
            differ += 1
    if differ:
        raise typer.Exit(1)
    typer.echo(f"as the files say: {counted(len(documents), 'connector')}")
