from __future__ import annotations

from tests.cli.connect.conftest import SINK, Program
from tests.waits import eventually


def test_waiting_ends_when_connector_and_tasks_are_there(program: Program) -> None:
    program.client.put_config("a", SINK)
    assert program.ok("wait", "connector", "a", "--for", "running") == "a: RUNNING\n"
    program.client.stop("a")
    assert program.ok("wait", "connector", ".*", "-e", "--for", "STOPPED") == "a: STOPPED\n"
    assert program.client.status("a")["tasks"] == []


def test_a_state_that_does_not_come_is_told(program: Program) -> None:
    program.client.put_config("a", SINK)
    program.ok("wait", "connector", "a", "--for", "RUNNING")
    code, _, err = program.run("wait", "connector", "a", "--for", "PAUSED", "--timeout", "0")
    assert (code, "a: it is RUNNING RUNNING, and not PAUSED yet" in err) == (1, True)
    assert program.run("wait", "connector", "nope", "--for", "PAUSED")[0] == 1


def test_a_failure_ends_the_waiting(program: Program) -> None:
    program.client.put_config("a", SINK)
    program.ok("wait", "connector", "a", "--for", "RUNNING")
    program.factory.last("a").fail("BadRecord: x")
    eventually(lambda: program.client.status("a")["tasks"][0]["state"] == "FAILED")
    code, _, err = program.run("wait", "connector", "a", "--for", "PAUSED")
    assert (code, "a: it is FAILED: " in err) == (1, True)
    assert "BadRecord" in err
