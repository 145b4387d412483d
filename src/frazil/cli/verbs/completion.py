"""The verb `completion`: a script that makes a shell complete verbs, options, connectors and contexts."""

from enum import StrEnum
from typing import Annotated

import typer

from frazil.cli.ui.program import verb


class Shell(StrEnum):
    """Shells that complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@verb(
    "completion bash  # for ~/.local/share/bash-completion/completions/frazil",
    "completion zsh  # for ~/.zfunc/_frazil",
    "completion fish  # for ~/.config/fish/completions/frazil.fish",
)
def completion(shell: Annotated[Shell, typer.Argument(help="Shell of yours.")]) -> None:
    """Print a script that lets a shell complete commands.

    It is for the program `frazil` on the PATH. Nothing is installed: put the script where your shell reads such.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    typer.echo(get_completion_script(prog_name="frazil", complete_var="_FRAZIL_COMPLETE", shell=shell.value))
