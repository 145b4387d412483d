from __future__ import annotations

import pytest

from frazil.stack.ports import unused
from tests.cli.connect.conftest import SINK, Program
from tests.harness import state_of
from tests.waits import eventually


def state(program: Program, name: str) -> str:
    return state_of(program.client.status(name))


def test_pause_resume_stop_restart(program: Program) -> None:
    for name in ("a", "b"):
        program.client.put_config(name, SINK)
    assert program.ok("pause", "connector", "a", "b") == "a: pausing\nb: pausing\n"
    eventually(lambda: state(program, "a") == state(program, "b") == "PAUSED")
    assert program.ok("stop", "connector", ".*", "-e") == "a: stopping\nb: stopping\n"
    eventually(lambda: state(program, "a") == state(program, "b") == "STOPPED")
    assert program.ok("resume", "connector", "a") == "a: resuming\n"
    eventually(lambda: state(program, "a") == "RUNNING")
    assert program.ok("restart", "connector", "a", "--only-failed") == "a: nothing of it has failed\n"
    program.factory.last("a").fail("BadRecord: x")
    eventually(lambda: state(program, "a") == "FAILED")
    assert program.ok("restart", "connector", "a", "--only-failed") == "a: restarting\n"
    assert program.ok("restart", "connector", "a") == "a: restarting\n"
    assert program.ok("restart", "task", "a/0") == "a/0: restarting\n"
    code, out, err = program.run("restart", "task", "a/7")
    assert (code, out) == (1, "")
    assert "Unknown task: a-7" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("stop", "connector"), "name the connector that is meant"),
        (("stop", "kafka", "worker"), "one service at a time"),
        (("stop", "kafka", "--context", "x"), "are for connectors"),
        (("restart", "worker", "--only-failed"), "are for connectors"),
        (("restart", "task", "a"), "expected CONNECTOR/NUMBER"),
        (("restart", "tasks", "a/0", "-e"), "are for connectors"),
    ],
)
def test_services_and_connectors_are_not_mixed_up(program: Program, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = program.run(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_offsets(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    (closed,) = unused(1)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{closed}")
    program.client.put_config("a", SINK)
    code, _, err = program.run("offsets", "set", "a", "topic:0=12")
    assert code == 2
    assert "a is RUNNING, and its position changes only while it is stopped" in err
    assert "`stop connector a`, repeat this" in err
    program.ok("stop", "connector", "a")
    eventually(lambda: state(program, "a") == "STOPPED")
    shown = program.ok("offsets", "set", "a", "topic:0=12", "--dry-run").splitlines()
    assert (shown[0], shown[-1]) == ("a: topic-0: from no offset to 12", "a: nothing was changed")
    assert shown[1].startswith(f"a: what the topics have is not known: Kafka at 127.0.0.1:{closed} does not answer")
    assert len(program.ok("offsets", "get", "a").splitlines()) == 1
    assert "altered successfully" in program.ok("offsets", "set", "a", "topic:0=12", "topic:1=null")
    assert "from 12 to 5, up to 7 records read again" in program.ok("offsets", "set", "a", "topic:0=5", "--dry-run")
    assert "from 12 to 13, up to 1 record left out" in program.ok("offsets", "set", "a", "topic:0=13", "--dry-run")
    assert program.ok("offsets", "get", "a").splitlines()[1].split() == ["topic", "0", "12"]
    assert '"kafka_offset": 12' in program.ok("get", "offsets", "a", "-o", "json")
    code, _, err = program.run("offsets", "reset", "a")
    assert (code, "This cannot be asked here: nothing was changed" in err) == (2, True)
    assert program.ok("offsets", "reset", "a", "--dry-run").endswith("a: nothing was changed\n")
    assert program.ok("offsets", "get", "a").splitlines()[1].split() == ["topic", "0", "12"]
    assert "reset successfully" in program.ok("offsets", "reset", "a", "--yes")
    assert len(program.ok("offsets", "get", "a").splitlines()) == 1
    for wrong in ("topic=1", "topic:x=1", "topic:0=-1", "topic:0"):
        code, _, err = program.run("offsets", "set", "a", wrong)
        assert (code, "expected TOPIC:PARTITION=OFFSET" in err) == (2, True)
    code, _, err = program.run("offsets", "set", "a")
    assert (code, "either as TOPIC" in err) == (2, True)
