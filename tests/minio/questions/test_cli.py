"""The verb `ask`, here beside the tables that it reads."""

from __future__ import annotations

import csv
import io
import json
import subprocess

import pytest

from frazil.minio.questions.catalog import EVERY, VIEWS
from tests.cli.programs import text_here
from tests.minio.questions.conftest import Asked
from tests.minio.questions.records import NIGHT

pytestmark = pytest.mark.stack

SINCE = ("--since", f"{NIGHT}00Z")


def run(asked: Asked, *arguments: str) -> subprocess.CompletedProcess[str]:
    return text_here(asked.settings.env, *arguments)


def test_the_questions_are_listed(asked: Asked) -> None:
    for arguments in (("ask",), ("ask", "--list")):
        shown = run(asked, *arguments)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert all(f"{name} " in shown.stdout for name in EVERY)
    listed = json.loads(run(asked, "ask", "--format", "json").stdout)
    assert [item["question"] for item in listed] == list(EVERY)
    assert listed[0]["options"] == "--since, --until, --bucket, --object, --user, -n"


def test_a_question_is_described(asked: Asked) -> None:
    shown = run(asked, "ask", "why-denied", "--list")
    assert shown.stdout.startswith("Why was this refused?\n")
    assert "assume_request" in shown.stdout


def test_an_answer_in_every_form(asked: Asked) -> None:
    arguments = ("ask", "who-deleted", "--bucket", "vault", "--object", "m/2", *SINCE)
    table = run(asked, *arguments)
    assert (table.returncode, table.stderr) == (0, "")
    assert "legacykey" in table.stdout
    rows = json.loads(run(asked, *arguments, "--format", "json").stdout)
    assert [(row["object"], row["who"]) for row in rows if row["what"] == "object"] == [("m/2", "legacykey")]
    lines = list(csv.DictReader(io.StringIO(run(asked, *arguments, "--format", "csv").stdout)))
    assert [line["request_id"] for line in lines] == [row["request_id"] for row in rows]


def test_more_rows_than_shown_are_told(asked: Asked) -> None:
    some = run(asked, "ask", "slowest", "-n", "3", *SINCE, "--format", "json")
    assert len(json.loads(some.stdout)) == 3
    assert "There are more rows than these 3" in some.stderr
    every = run(asked, "ask", "slowest", "-n", "100000", *SINCE, "--format", "json")
    assert "There are more rows" not in every.stderr


def test_the_statement_gives_the_same_answer(asked: Asked) -> None:
    arguments = ("ask", "changes", *SINCE, "--until", f"{NIGHT}40:00Z", "-n", "1000")
    printed = run(asked, *arguments, "--sql").stdout
    assert f'"{asked.settings.namespace}".auditlogs' in printed
    answer = run(asked, *arguments, "--format", "json").stdout
    assert run(asked, "sql", printed, "--format", "json").stdout == answer
    assert len(json.loads(answer)) > 5


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nosuch",), 2, "there is no question nosuch; there are who-deleted"),
        (("logins", "--object", "x"), 2, "logins does not take --object; it takes --since, --until, --user, -n"),
        (("object-history",), 2, "object-history needs --object: records of this object, its whole key"),
        (("slowest", "-n", "0"), 2, "from 1 on"),
        (("slowest", "--since", "soon"), 2, "soon is not a time"),
        (("slowest", "--since", "1h", "--until", "2h"), 2, "--until 2h is not after --since 1h"),
        (("--sql",), 2, "--sql needs a question"),
        (("errors", "--create-views"), 2, "stands alone; nothing was stored"),
    ],
)
def test_wrong_usage(asked: Asked, arguments: tuple[str, ...], code: int, message: str) -> None:
    shown = run(asked, "ask", *arguments)
    assert (shown.returncode, shown.stdout) == (code, "")
    assert message in shown.stderr


def test_tables_that_do_not_exist(asked: Asked) -> None:
    shown = text_here({**asked.settings.env, "NAMESPACE_NAME": "nosuch"}, "ask", "errors")
    assert (shown.returncode, shown.stdout) == (1, "")
    assert "nosuch" in shown.stderr


def test_views_are_stored_once(asked: Asked) -> None:
    first = run(asked, "ask", "--create-views")
    assert (first.returncode, first.stderr) == (0, "")
    assert {line.split()[-1] for line in first.stdout.splitlines()} <= {"created", "exists", "updated"}
    again = run(asked, "ask", "--create-views")
    assert [line.split()[-1] for line in again.stdout.splitlines()] == ["exists"] * len(VIEWS)
