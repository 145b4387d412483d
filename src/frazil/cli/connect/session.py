"""Worker that the verbs for connectors talk to, and the connectors that they are about."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from frazil.cli.ui.console import tell_waiting
from frazil.environment.access import ConnectAccess
from frazil.environment.contexts import Contexts
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotFound, UsageError

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient


def complete_connectors(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names that a shell offers for a connector; none when the worker does not answer."""
    try:
        with connect(ctx.params.get("context")) as client:
            return [name for name in client.connectors() if name.startswith(incomplete)]
    except FrazilError:
        return []


def complete_contexts(incomplete: str) -> list[str]:
    """Names that a shell offers for a context."""
    try:
        return [name for name in Contexts.load(Settings.load().contexts_file).known if name.startswith(incomplete)]
    except FrazilError:
        return []


ContextOption = Annotated[
    str | None, typer.Option("--context", help="Worker to talk to; see `context`.", autocompletion=complete_contexts)
]
RegexOption = Annotated[
    bool, typer.Option("--regex", "-e", help="NAMES are regular expressions; each matches whole names.")
]
NameArgument = Annotated[str, typer.Argument(help="Connector.", autocompletion=complete_connectors)]
NamesArgument = Annotated[list[str], typer.Argument(help="Connectors.", autocompletion=complete_connectors)]


def access_of(settings: Settings, context: str | None = None) -> ConnectAccess:
    """The worker that counts, from the first of: `--context`, FRAZIL_CONTEXT, KAFKA_CONNECT_URL, the context chosen
    with `context use`, the worker of the stack.

    Raises NotFound for a context that does not exist, ConfigError for one that cannot be used.
    """
    contexts = Contexts.load(settings.contexts_file)
    name = context or settings.context or ("" if settings.connect_external else contexts.current)
    return contexts.get(name).access(name, settings.env) if name else settings.connect_access


def connect(context: str | None) -> ConnectClient:
    """A client for the worker that counts."""
    from frazil.clients.connect import ConnectClient

    return ConnectClient(access_of(Settings.load(), context), tell_waiting)


def chosen(client: ConnectClient, names: Sequence[str], regex: bool) -> list[str]:
    """Names of connectors, each once; with `regex` those that exist and match any of the expressions.

    Raises UsageError for an expression that is none, NotFound when nothing matches.
    """
    if not regex:
        return list(dict.fromkeys(names))
    try:
        patterns = [re.compile(name) for name in names]
    except re.error as error:
        raise UsageError(f"{error.pattern!r} is no regular expression: {error}. Nothing was done.") from None
    found = [name for name in client.connectors() if any(pattern.fullmatch(name) for pattern in patterns)]
    if not found:
        raise NotFound(f"no connector matches {' or '.join(names)}. Nothing was done; `get connectors` lists them.")
    return found


def for_each(
    names: Iterable[str], action: Callable[[str], str], then: Callable[[list[str]], int] = lambda done: 0
) -> None:
    """Carry out an action on each connector, with a line for each; the failure of one does not keep the others.

    `then` looks at those that it was done to, and tells how many have failed after all. Ends the program with exit code
    1 when any has failed.
    """
    failed, succeeded = 0, []
    for name in names:
        try:
            done = action(name)
        except FrazilError as error:
            failed += 1
            print(f"frazil: {name}: {error}", file=sys.stderr)
        else:
            typer.echo(f"{name}: {done}")
            succeeded.append(name)
    failed += then(succeeded)
    if failed:
        raise typer.Exit(1)
