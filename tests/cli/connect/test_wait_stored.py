from __future__ import annotations

import threading

import pytest

from frazil.clients.kafka.groups import set_group_offsets
from frazil.clients.kafka.topics import ensure_topics
from frazil.stack.local import LocalStack
from tests.cli.connect.conftest import SINK, Program
from tests.connectors.samples import MINIMAL_S3_SINK
from tests.harness import produce
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.stack


def test_waiting_for_what_the_topics_have(program: Program, stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = stack.settings.bootstrap_servers
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", servers)
    ensure_topics(servers, {"wait.stored": (1, {})})
    produce(servers, "wait.stored", [b"1", b"2", b"3"], 3)
    keys = {key: value for key, value in SINK.items() if key != "topics"}
    program.client.put_config("named", {**MINIMAL_S3_SINK, "name": "named", "topics": "wait.stored", "flush.size": "4"})
    program.client.put_config("by-pattern", {**keys, "topics.regex": r"wait\.stored"})
    for name in ("named", "by-pattern"):
        code, _, err = program.run("wait", "connector", name, "--for", "caught-up", "--timeout", "0")
        assert (code, f"{name}: it is 3 records behind, and not CAUGHT-UP yet" in err) == (1, True), err
        held = "yet; 3 records wait in open objects until their partition has 4 (`flush.size`)"
        assert (held in err) == (name == "named"), err
        set_group_offsets(servers, f"connect-{name}", {("wait.stored", 0): 3})
        assert program.ok("wait", "connector", name, "--for", "caught-up") == f"{name}: CAUGHT-UP\n"
        assert program.ok("wait", "connector", name, "--for", "committed") == f"{name}: COMMITTED\n"
    program.factory.last("by-pattern").fail("frazil.errors.ConfigError: frazil.sql was changed")
    code, out, err = program.run("wait", "connector", "by-pattern", "--for", "caught-up")
    assert (code, out, "frazil.sql was changed" in err) == (1, "", True), "nothing is left to store, and it fails"
    begun, begin = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        begun.set()
        assert begin.wait(PATIENCE_S)

    program.factory.before_start = wait
    program.client.patch_config("named", {"tasks.max": "2"})
    assert begun.wait(PATIENCE_S)
    code, _, err = program.run("wait", "connector", "named", "--for", "caught-up", "--timeout", "0")
    assert (code, "named: it is RESTARTING, and not CAUGHT-UP yet" in err) == (1, True), err
    begin.set()
    assert program.ok("wait", "connector", "named", "--for", "caught-up") == "named: CAUGHT-UP\n"
    program.client.stop("by-pattern")
    eventually(lambda: program.client.status("by-pattern")["connector"]["state"] == "STOPPED")
    told = program.ok("offsets", "set", "by-pattern", "wait.stored:0=99", "--dry-run").splitlines()
    assert told[1].startswith("by-pattern: wait.stored-0 ends at offset 3: a connector that is started before")
    code, _, err = program.run("offsets", "set", "by-pattern", "wait.stored:7=1", "--dry-run")
    assert (code, "Topic wait.stored has no partition 7; nothing was changed." in err) == (2, True), err
    produce(servers, "wait.stored", [b"4"], 1)
    program.client.pause("named")
    program.ok("wait", "connector", "named", "--for", "PAUSED")
    code, _, err = program.run("wait", "connector", "named", "--for", "committed")
    assert (code, "named: it is PAUSED, with 1 record to store; `resume` it" in err) == (1, True), err
