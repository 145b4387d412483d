"""Connectors that do not run, as the verbs tell them that create, change or start connectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frazil.cli.connect import outcome
from frazil.errors import BadRecord, ServiceUnavailable, TerminalError
from tests.cli.connect.conftest import SINK, Program

REASON = "table db.t does not exist"
TOLD = f"frazil: bad is FAILED: frazil.errors.TerminalError: {REASON}. Correct that, then `restart connector bad`\n"


def fail_bad(name: str) -> None:
    if name == "bad":
        raise TerminalError(f"{REASON}.")


@pytest.fixture
def files(program: Program, tmp_path: Path) -> str:
    """A folder with the connectors `good` and `bad`, of which the worker cannot start one."""

    program.factory.before_start = fail_bad
    folder = tmp_path / "connectors"
    folder.mkdir()
    for name in ("good", "bad"):
        (folder / f"{name}.json").write_text(json.dumps({"name": name, **SINK}))
    return str(folder)


def test_a_connector_that_has_failed_is_told_each_time_that_it_is_applied(program: Program, files: str) -> None:
    told = program.run("apply", "-f", files)
    assert told == (1, "bad: created\ngood: created\n2 created; 1 of them FAILED\n", TOLD)
    told = program.run("apply", "-f", files)
    assert told == (
        1,
        "bad: restarted, as it was FAILED\ngood: unchanged\n1 restarted, 1 unchanged; 1 of them FAILED\n",
        TOLD,
    )
    program.factory.before_start = lambda name: None
    told = program.run("apply", "-f", files)
    assert told == (0, "bad: restarted, as it was FAILED\ngood: unchanged\n1 restarted, 1 unchanged\n", "")
    program.factory.last("bad").fail(f"frazil.errors.TerminalError: {REASON}.")
    program.factory.before_start = fail_bad
    assert program.run("patch", "connector", "bad", "--set", "tasks.max=2") == (
        1,
        "bad: updated\n  + tasks.max=2\n",
        TOLD,
    )


def test_a_bad_record_tells_its_own_ways_on(program: Program) -> None:
    def before_start(name: str) -> None:
        raise BadRecord("a record cannot be stored: t-0@7. Leave it out")

    program.factory.before_start = before_start
    program.client.put_config("bad", SINK)
    told = "frazil: bad is FAILED: frazil.errors.BadRecord: a record cannot be stored: t-0@7. Leave it out\n"
    assert program.run("restart", "connector", "bad") == (1, "bad: restarting\n", told)


def test_nothing_is_pruned_for_a_connector_that_has_failed(program: Program, files: str) -> None:
    program.client.put_config("old", SINK)
    code, out, _ = program.run("apply", "-f", files, "--prune", "--yes")
    assert (code, "deleted" in out) == (1, False)
    assert program.client.connectors() == ["bad", "good", "old"]


def test_starting_a_connector_again_tells_that_it_has_failed_again(program: Program, files: str) -> None:
    program.run("apply", "-f", files)
    assert program.run("restart", "connector", ".*", "-e") == (1, "bad: restarting\ngood: restarting\n", TOLD)
    assert program.run("restart", "task", "bad/0", "good/0") == (1, "bad/0: restarting\ngood/0: restarting\n", TOLD)
    program.ok("stop", "connector", "bad")
    program.ok("wait", "connector", "bad", "--for", "STOPPED")
    assert program.run("resume", "connector", "bad") == (1, "bad: resuming\n", TOLD)


def test_what_is_brought_back_and_fails_is_told(program: Program, files: str, tmp_path: Path) -> None:
    program.run("apply", "-f", files)
    program.ok("backup", str(tmp_path / "saved"))
    program.client.delete("bad")
    code, out, err = program.run("restore", str(tmp_path / "saved"))
    assert (code, err) == (1, TOLD)
    assert out.startswith("bad: created, RUNNING")


def test_a_failure_that_may_pass_is_told_and_is_none_yet(
    program: Program, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def before_start(name: str) -> None:
        raise ServiceUnavailable("the catalog does not answer")

    program.factory.before_start = before_start
    monkeypatch.setattr(outcome, "_SETTLED_S", 0.5)
    code, out, err = program.run("apply", "-f", f"{files}/good.json")
    assert (code, out) == (0, "good: created\n1 created\n")
    assert err == (
        "frazil: good is RESTARTING yet: frazil.errors.ServiceUnavailable: the catalog does not answer. "
        "`wait connector good --for RUNNING` waits for it\n"
    )
