"""The verb `password`: what stands for a password in a users file."""

import getpass
import sys

import typer

from frazil.cli.ui.program import verb
from frazil.errors import UsageError


@verb("password  # asks for it; where there is no terminal, standard input has it")
def password() -> None:
    """Print the hash of a password for the file of REST users.

    The password is asked for, or read from standard input; it is never an argument. A line of the file is user=hash.
    """
    from frazil.worker.rest.security.users import hashed

    if sys.stdin.isatty():
        text = getpass.getpass("Password: ")
        if text != getpass.getpass("Again: "):
            raise UsageError("the two are not the same. Nothing was made.")
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    if not text:
        raise UsageError("a password cannot be empty. Nothing was made.")
    typer.echo(hashed(text))
