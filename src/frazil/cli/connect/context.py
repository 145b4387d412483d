"""The verb `context`: named workers of the user."""

from pathlib import Path
from typing import Annotated

import typer

from frazil.cli.connect.session import access_of, complete_contexts
from frazil.cli.ui.output import ListOption, Output, show
from frazil.cli.ui.program import group
from frazil.environment.contexts import Context, Contexts
from frazil.environment.settings import Settings
from frazil.errors import UsageError

NameArgument = Annotated[str, typer.Argument(help="Context.", autocompletion=complete_contexts)]

_LOCAL = "context set local --url http://127.0.0.1:8083"
_context = group("context", "Name workers, and choose the one to talk to.", "context list", _LOCAL, "context use local")


@_context(
    "set",
    _LOCAL,
    "context set production --url https://connect.example:8083 --user ops --password-env CONNECT_PASSWORD",
)
def set_(
    name: NameArgument,
    url: Annotated[str, typer.Option("--url", help="URL of the worker's REST API.")],
    user: Annotated[str, typer.Option("--user", help="User for basic authentication.")] = "",
    password_env: Annotated[
        str, typer.Option("--password-env", help="Name of the environment variable with the password.")
    ] = "",
    password_file: Annotated[
        Path | None, typer.Option("--password-file", help="File with the password in its first line.")
    ] = None,
    ca_file: Annotated[Path | None, typer.Option("--ca-file", help="PEM file that the worker is trusted by.")] = None,
    cert_file: Annotated[
        Path | None, typer.Option("--cert-file", help="PEM file with the client's certificate.")
    ] = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", help="PEM file with the key of it.")] = None,
) -> None:
    """Add a worker, or replace the one of that name; the first one is used from now on.

    The password itself is not taken: it stays in the variable or the file, and is read with each use.
    """
    if password_env and password_file:
        raise UsageError("give --password-env or --password-file, not both. Nothing was changed.")
    if (password_env or password_file) and not user:
        raise UsageError("a password needs a --user. Nothing was changed.")
    if name.strip() != name or not name:
        raise UsageError(f"{name!r} is no name for a context. Nothing was changed.")
    settings = Settings.load()
    contexts = Contexts.load(settings.contexts_file)
    paths = [
        str(file.expanduser().absolute()) if file else "" for file in (password_file, ca_file, cert_file, key_file)
    ]
    context = Context(url, user, password_env, *paths)
    context.access(name, {**settings.env, password_env: "checked"} if password_env else settings.env)
    contexts.known[name] = context
    contexts.current = contexts.current or name
    contexts.save()
    typer.echo(f"{name}: set in {contexts.path}{' (in use)' if contexts.current == name else ''}")


@_context("use", "context use production")
def use(name: NameArgument) -> None:
    """Talk to this worker from now on."""
    contexts = Contexts.load(Settings.load().contexts_file)
    contexts.get(name)
    contexts.current = name
    contexts.save()
    typer.echo(f"{name}: in use")


@_context("list", "context list", "context list -o json")
def list_(output: ListOption = Output.TABLE) -> None:
    """List contexts; the worker that would be talked to now is named below them."""
    settings = Settings.load()
    contexts = Contexts.load(settings.contexts_file)
    document = {
        name: {"url": context.url, "user": context.user, "current": name == contexts.current}
        for name, context in sorted(contexts.known.items())
    }
    rows = [("*" if one["current"] else "", name, one["url"], one["user"] or "-") for name, one in document.items()]
    show(output, document, ("", "name", "url", "user"), rows, names=document)
    if output is Output.TABLE:
        access = access_of(settings)
        typer.echo(f"\nNow: {access.url} ({access.source if access.source != 'KAFKA_CONNECT_URL' else _why(settings)})")


def _why(settings: Settings) -> str:
    return "KAFKA_CONNECT_URL" if settings.connect_external else "the worker of the stack"


@_context("remove", "context remove production")
def remove(name: NameArgument) -> None:
    """Forget a worker; the worker itself is not touched."""
    contexts = Contexts.load(Settings.load().contexts_file)
    contexts.get(name)
    del contexts.known[name]
    if contexts.current == name:
        contexts.current = ""
    contexts.save()
    typer.echo(f"{name}: removed")
