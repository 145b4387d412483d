from __future__ import annotations

from pathlib import Path

import pytest

from frazil.cli.shell.commands import HELP, Leave, Session, completions
from frazil.cli.ui.answers import SqlFormat
from frazil.errors import UsageError
from frazil.sql.text_table import Expanded


@pytest.mark.parametrize(
    ("line", "statement"),
    [
        ("\\d", "SHOW TABLES"),
        ("\\dt", "SHOW TABLES"),
        ("\\dn", "SHOW SCHEMAS"),
        ("\\d;", "SHOW TABLES"),
        ("\\d apilogs", 'DESCRIBE "apilogs"'),
        ("\\d streaming.apilogs$snapshots", 'DESCRIBE "streaming"."apilogs$snapshots"'),
        ('\\d "apilogs$files"', 'DESCRIBE "apilogs$files"'),
    ],
)
def test_names_are_asked_for(line: str, statement: str) -> None:
    ran: list[str] = []
    Session(ran.append).command(line)
    assert ran == [statement]


def test_a_name_cannot_end_the_statement_that_it_is_put_into() -> None:
    ran: list[str] = []
    Session(ran.append).command("\\d a; DROP TABLE b")
    assert ran == ['DESCRIBE "a; DROP TABLE b"']


def test_a_file_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "two.sql"
    path.write_text("SELECT 1;\nSELECT 2;\n")
    ran: list[str] = []
    Session(ran.append).command(f"\\i {path}")
    assert ran == ["SELECT 1;\nSELECT 2;\n"]


def test_how_tables_look(capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(print)
    for line, expanded in (("\\x", Expanded.ON), ("\\x", Expanded.OFF), ("\\x auto", Expanded.AUTO)):
        session.command(line)
        assert session.look.expanded is expanded
    session.command("\\timing")
    assert session.look.timing is False
    assert "Times are not shown." in capsys.readouterr().out
    session.command("\\timing")
    assert session.look.timing is True


def test_where_answers_go(tmp_path: Path) -> None:
    session = Session(print)
    path = tmp_path / "a.parquet"
    session.command(f"\\o {path}")
    session.command("\\format parquet")
    assert (session.answers.form, session.answers.path) == (SqlFormat.PARQUET, path)
    session.command("\\o")
    assert (session.answers.form, session.answers.path) == (SqlFormat.TABLE, None)
    assert not path.exists(), "a file is begun with its first answer"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\\i", "name of a file"),
        ("\\i /no/such.sql", "/no/such.sql cannot be read"),
        ("\\nosuch", "\\? lists"),
        ("\\x maybe", "on, off or auto"),
        ("\\format xml", "table, json, csv, parquet"),
    ],
)
def test_what_is_not_known_is_said(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Session(print).command(line)
    assert message in str(caught.value)


def test_every_command_is_in_the_help_and_leaves_or_does_something(capsys: pytest.CaptureFixture[str]) -> None:
    for command in completions():
        assert f"  {command}" in HELP
    Session(print).command("\\?")
    assert capsys.readouterr().out == f"{HELP}\n"
    with pytest.raises(Leave):
        Session(print).command("\\q")
