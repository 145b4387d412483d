from __future__ import annotations

import re
import shlex

import pytest
import typer
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.cli.ui.program import PROGRAM, examples

VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
INNER = [f"{verb} {inner}" for verb, command in VERBS.items() for inner in getattr(command, "commands", {})]


def test_examples_name_the_program() -> None:
    assert examples("a", "b -n 1") == f"\b\nExamples:\n  {PROGRAM} a\n  {PROGRAM} b -n 1"


@pytest.mark.parametrize("verb", ["", *VERBS, *INNER])
def test_each_help_has_examples_that_would_be_taken(verb: str) -> None:
    shown = CliRunner().invoke(app, [*verb.split(), "-h"], prog_name="frazil", terminal_width=80)
    assert shown.exit_code == 0, shown.output
    _, _, below = shown.output.partition("Examples:\n")
    lines = below.splitlines()
    assert lines
    for line in lines:
        program, used, *arguments = shlex.split(line, comments=True)
        assert program == "frazil"
        assert used in (VERBS if not verb else (verb.split()[0], "start", "stop", "logs"))
        if arguments != ["-h"]:
            command = VERBS[used]
            inner = getattr(command, "commands", {})
            if arguments and arguments[0] in inner:
                command = inner[arguments.pop(0)]
            assert command is not VERBS[used] or not inner or command.invoke_without_command
            command.make_context(used, arguments)  # raises for what the verb does not take


def test_no_summary_of_a_verb_is_cut() -> None:
    shown = CliRunner().invoke(app, ["-h"], prog_name="frazil", terminal_width=80).output
    lines = [line for line in shown.splitlines() if re.match(r"  [a-z][a-z-]* {2,}\S", line)]
    assert {line.split()[0] for line in lines} == set(VERBS)
    assert not [line for line in lines if "..." in line]
