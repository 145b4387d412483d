"""The verbs `apply`, `patch` and `delete`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.connect.outcome import FAILED, has_failed, tell_failed
from frazil.cli.connect.session import ContextOption, NamesArgument, RegexOption, chosen, connect, for_each
from frazil.cli.connect.shown import shown_value
from frazil.cli.ui.arguments import keys_and_values
from frazil.cli.ui.console import YesOption, consent
from frazil.cli.ui.env_file import EnvFileOption, variables_of
from frazil.cli.ui.program import group, verb
from frazil.connectors.documents import Document, read_documents
from frazil.connectors.kept_keys import kept
from frazil.errors import ConfigError, FrazilError, NotFound, UsageError

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient

_PATCH, _DELETE = "patch connector iceberg-sink-apilogs --set tasks.max=4", "delete connector iceberg-sink-apilogs"
FilesOption = Annotated[
    list[str], typer.Option("--file", "-f", help="JSON or YAML file, folder of such files, or - for stdin.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would change and check it; send nothing.")]
NameOption = Annotated[str | None, typer.Option("--name", "-n", help="Name of the one connector that has none.")]
_patch = group("patch", "Change some keys of connectors.", _PATCH)
_delete = group("delete", "Delete connectors; tables and topics stay.", _DELETE)


@verb(
    "apply -f connectors/ --dry-run  # shows what would change",
    "apply -f connectors/",
    "apply -f sink.yaml -f other.json",
    "apply -f - --name sink  # standard input",
    "apply -f connectors/ --env-file env  # values with ${NAME}",
    "apply -f connectors/ --prune --dry-run  # what is in no file would go",
)
def apply(
    files: FilesOption,
    name: NameOption = None,
    dry_run: DryRunOption = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete the connectors that are in no file as well; asks first.")
    ] = False,
    yes: YesOption = False,
    env_file: EnvFileOption = None,
    context: ContextOption = None,
) -> None:
    """Create or update connectors from files; safe to repeat.

    A file has one connector or several, as {"name": ..., "config": {...}} or as one flat object; one without a name is
    named after its file. What is as it should be is left alone, but restarted where it is FAILED. A connector that is
    in no file is left alone too, unless --prune deletes it: last, and only when all else was done. Its tables, topics
    and position stay. A connector that does not run then is told with its state and the reason; the exit code is 1 when
    one has FAILED.
    """
    documents = read_documents(files, sys.stdin, name, variables=variables_of(env_file))
    if name is not None and len(documents) > 1:
        raise UsageError(f"--name is for one connector, and the files have {len(documents)}. Nothing was sent.")
    outcomes: Counter[str] = Counter()
    refused, dead = False, 0
    applied: dict[str, str] = {}
    with connect(context) as client:
        for document in documents:
            try:
                outcome = _apply(client, document, dry_run)
                outcomes[outcome] += 1
                applied[document.name] = outcome
            except FrazilError as error:
                outcomes["failed"] += 1
                typer.echo(f"frazil: {document.name} ({document.source}): {error}", err=True)
                refused |= isinstance(error, ConfigError)
        if not dry_run:
            dead = tell_failed(client, applied, changed=any(one != "unchanged" for one in applied.values()))
        if prune and not (outcomes["failed"] or outcomes["refused"] or dead):
            outcomes["deleted"] += _prune(client, without_file(client, documents), dry_run=dry_run, yes=yes)
    done = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items() if count)
    end = "; nothing was sent" if dry_run else f"; {dead} of them FAILED" if dead else ""
    typer.echo(f"{done}{end}")
    if refused or outcomes["refused"]:
        typer.echo("`validate FILE` names all that is wrong with a configuration.", err=True)
    if outcomes["failed"] or outcomes["refused"] or dead:
        raise typer.Exit(1)


def _apply(client: ConnectClient, document: Document, dry_run: bool) -> str:
    """Outcome of one document: created, updated, restarted, unchanged or, in a dry run, refused."""
    try:
        before: Mapping[str, str] | None = client.config(document.name)
    except NotFound:
        before = None
    wanted = wanted_of(document, before or {})
    outcome = "created" if before is None else "unchanged" if before == wanted else "updated"
    changes = changes_between(before or {}, wanted) if outcome != "unchanged" else []
    errors = client.validate(wanted) if dry_run and changes else []
    if not dry_run and before is None:
        client.create(document.name, wanted, document.initial_state)
    elif not dry_run and changes:
        client.put_config(document.name, wanted)
    elif not dry_run and has_failed(client, document.name) and client.restart(document.name, only_failed=True):
        outcome = "restarted"
    why = f", as it was {FAILED}" if outcome == "restarted" else ""
    typer.echo(f"{document.name}: {'would be ' if dry_run and changes else ''}{outcome}{why}")
    shown = [*changes, *(f"! {error}" for error in errors)] if dry_run or outcome == "updated" else []
    warnings = _warnings(before or {}, wanted) if changes else []
    for line in (*shown, *warnings):
        typer.echo(f"  {line}")
    return "refused" if errors else outcome


def wanted_of(document: Document, before: Mapping[str, str]) -> dict[str, str]:
    """The configuration of a document, with what the worker has found and keeps of the one before."""
    return {**kept(before, document.config), **document.config, "name": document.name}


def without_file(client: ConnectClient, documents: Sequence[Document]) -> list[str]:
    """Connectors of the worker that are none of the documents."""
    named = {document.name for document in documents}
    return [name for name in client.connectors() if name not in named]


def _prune(client: ConnectClient, names: Sequence[str], *, dry_run: bool, yes: bool) -> int:
    """Delete connectors, if the user agrees; how many it were, or would be."""
    if names:
        question = f"Delete {', '.join(names)}, which {'is' if len(names) == 1 else 'are'} in no file?"
        consent(dry_run or yes, question, "nothing was deleted")
    for name in names:
        if not dry_run:
            client.delete(name)
        typer.echo(f"{name}: {'would be deleted' if dry_run else 'deleted'}")
    return len(names)


def _warnings(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Lines with `?` for keys that have no effect, and for a change that a state does not go on with."""
    from frazil.connectors.registry import warnings_of
    from frazil.connectors.statement_state import changed

    return [f"? {text}" for text in (*warnings_of(after), *changed(before, after))]


def changes_between(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Lines with `-` and `+` for the keys that differ; secrets are hidden."""
    lines = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if old is not None:
            lines.append(f"- {key}={shown_value(key, old)}")
        if new is not None:
            lines.append(f"+ {key}={shown_value(key, new)}")
    return lines


@_patch(
    "connector",
    f"{_PATCH} --dry-run",
    _PATCH,
    "patch connector 'iceberg-.*' -e --set errors.tolerance=all --remove transforms",
)
def patch_connector(
    names: NamesArgument,
    set_: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="KEY=VALUE", help="Key to set; may be repeated.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", "-r", metavar="KEY", help="Key to remove; may be repeated.")
    ] = None,
    regex: RegexOption = False,
    dry_run: DryRunOption = False,
    context: ContextOption = None,
) -> None:
    """Set or remove keys of connectors; the others stay as they are.

    What a command line holds can be seen by other users of the machine: for a secret give a placeholder such as
    ${file:/path:key}, or use `apply`.
    """
    patch: dict[str, str | None] = {**keys_and_values(set_ or (), "Nothing was changed.")}
    for key in remove or ():
        if key in patch:
            raise UsageError(f"{key} is set and removed. Nothing was changed.")
        patch[key] = None
    if not patch:
        raise UsageError("nothing to change: give --set KEY=VALUE or --remove KEY")
    with connect(context) as client:

        def patched(name: str) -> str:
            before = client.config(name)
            after = {key: value for key, value in {**before, **patch}.items() if value is not None}
            if after == before:
                return "unchanged"
            changes = [*changes_between(before, after), *_warnings(before, after)]
            errors = client.validate(after) if dry_run else []
            if errors:
                raise ConfigError("\n  ".join(["would be refused", *changes, *(f"! {error}" for error in errors)]))
            if not dry_run:
                client.patch_config(name, patch)
            return "\n  ".join(["would be updated; nothing was sent" if dry_run else "updated", *changes])

        def told(done: list[str]) -> int:
            return 0 if dry_run else tell_failed(client, done)

        for_each(chosen(client, names, regex), patched, told)


@_delete("connector", _DELETE, "delete connector 'test-.*' -e --yes")
def delete_connector(
    names: NamesArgument, regex: RegexOption = False, yes: YesOption = False, context: ContextOption = None
) -> None:
    """Delete connectors; their tables, topics and positions stay.

    On a terminal it asks first; a script is not asked, as with kubectl.
    """
    with connect(context) as client:
        wanted = chosen(client, names, regex)
        consent(yes or not sys.stdin.isatty(), f"Delete {', '.join(wanted)}?", "nothing was deleted")

        def deleted(name: str) -> str:
            client.delete(name)
            return "deleted"

        for_each(wanted, deleted)
