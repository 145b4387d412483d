from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from frazil.cli.ui.statement import StatementCommand

app = typer.Typer()


@app.command(cls=StatementCommand)
def echo(
    statement: Annotated[str, typer.Argument()],
    file: Annotated[str, typer.Option("--file")] = "",
) -> None:
    """What arrived."""
    typer.echo(f"{statement!r} {file!r}")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["-- a comment\nSELECT 1"], "' -- a comment\\nSELECT 1' ''"),
        (["--comment\nSELECT 1", "--file", "x"], "' --comment\\nSELECT 1' 'x'"),
        (["-- a = b\nSELECT 1"], "' -- a = b\\nSELECT 1' ''"),
        (["--file=a b", "SELECT 1"], "'SELECT 1' 'a b'"),
        (["--file", "-- x\ny", "SELECT 1"], "'SELECT 1' ' -- x\\ny'"),
        (["--", "-- c\nSELECT 1"], "' -- c\\nSELECT 1' ''"),
        (["SELECT 1"], "'SELECT 1' ''"),
    ],
)
def test_a_statement_may_begin_with_a_comment(arguments: list[str], shown: str) -> None:
    assert CliRunner().invoke(app, arguments).output == f"{shown}\n"


def test_a_wrong_option_is_one_still() -> None:
    result = CliRunner().invoke(app, ["--fromat", "csv", "SELECT 1"])
    assert result.exit_code == 2
    assert "--fromat" in result.output
