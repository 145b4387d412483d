from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from pathlib import Path

import httpx
import pytest
import typer

from frazil.cli.main import app
from frazil.cli.verbs import demo
from frazil.cli.verbs.demo import behind, next_steps
from frazil.clients.connect import ConnectClient
from frazil.environment.settings import Settings
from frazil.errors import TerminalError
from frazil.minio.deployment.deploy import deploy
from frazil.stack.local import LocalStack
from tests.cli.programs import finished, output_until, program
from tests.harness import produce, state_of
from tests.isolation import isolated_settings
from tests.rest_worker import rest_worker
from tests.waits import eventually

VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_what_it_says_to_try_next_would_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = isolated_settings(tmp_path)
    commands = [shlex.split(command) for command, _ in next_steps(settings)]
    for program_, verb, *arguments in commands:
        assert program_ == "frazil"
        VERBS[verb].make_context(verb, arguments)
    monkeypatch.setattr(demo, "PROGRAM", "./kafka-connect-iceberg-sink.sh")
    (first, _), *others = next_steps(settings)
    assert first == f'export PATH="{Path(sys.executable).parent}:$PATH"'
    assert [shlex.split(command) for command, _ in others] == commands
    assert {verb for _, verb, *_ in commands} >= {"status", "query", "sql", "stop"}


@pytest.mark.stack
def test_waiting_ends_with_a_reason_when_a_connector_does_not_run(stack: LocalStack, tmp_path: Path) -> None:
    topics = {f"{kind}_LOGS_TOPIC": f"demo.{kind.lower()}" for kind in ("API", "ERROR", "AUDIT")}
    with rest_worker(tmp_path) as (url, factory):
        env = {**stack.settings.env, **topics, "NAMESPACE_NAME": "demo_waiting", "KAFKA_CONNECT_URL": url}
        settings = Settings(env)
        deploy(settings, lambda step: None)
        with ConnectClient(url) as client:
            assert behind(settings, client) == {}
            produce(settings.bootstrap_servers, "demo.error", [b"{}"] * 3, 3)
            assert behind(settings, client) == {"demo.error": 3}

            assert httpx.put(f"{url}/connectors/iceberg-sink-errorlogs/pause").status_code == 202
            eventually(lambda: client.status("iceberg-sink-errorlogs")["connector"]["state"] == "PAUSED")
            with pytest.raises(TerminalError, match="errorlogs is PAUSED.*`resume connector iceberg-sink-errorlogs`"):
                behind(settings, client)

            factory.last("iceberg-sink-apilogs").fail("BadRecord: api-0@7\nmore")
            eventually(lambda: state_of(client.status("iceberg-sink-apilogs")) == "FAILED")
            with pytest.raises(TerminalError, match=r"iceberg-sink-apilogs FAILED: BadRecord: api-0@7\. Its records"):
                behind(settings, client)


@pytest.mark.spark
@pytest.mark.timeout(600)  # the first one of a cache fetches what it starts
def test_the_demo_and_one_that_is_interrupted(tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path / "home", FRAZIL_ENV_FILE=os.devnull)
    try:
        code, shown = finished(program(settings, "demo"), timeout=480)
        assert code == 0, shown
        assert "14 created" in shown and "there already" not in shown
        assert re.search(r"^ +bucket +api +calls +worst_status", shown, re.MULTILINE), shown
        assert len(re.findall(r"^ [a-z-]+ +s3\.\w+ +\d+ +\d+\s*$", shown, re.MULTILINE)) == 10, shown
        assert "The stack goes on running." in shown
        summary = finished(program(settings, "query", "--format", "csv"))[1].splitlines()
        assert [line.split(",")[:2] for line in summary[1:]] == [
            ["apilogs", "1000"],
            ["errorlogs", "1000"],
            ["auditlogs", "1000"],
        ]
        interrupted = program(settings, "demo")
        assert "0 created, 14 were there already" in output_until(interrupted, "[3/4]")
        interrupted.send_signal(signal.SIGINT)
        code, shown = finished(interrupted)
        assert code == 130
        assert "The demo has not finished. The services go on running; `frazil stop` stops them." in shown
        assert "Traceback" not in shown
        assert finished(program(settings, "status"))[0] == 0
    finally:
        code, shown = finished(program(settings, "clean", "--yes"))
    assert code == 0, shown
    assert not settings.home.exists()
