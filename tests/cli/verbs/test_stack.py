from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.cli.ui.console import make_console
from frazil.cli.verbs.stack import requested, services, start_services, stop_services, worker_service
from frazil.cli.verbs.status_look import look
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import PortTaken, ServiceDied, UsageError
from frazil.stack.dual import NAMES
from frazil.stack.local import LocalStack
from frazil.stack.ports import Port, unused
from frazil.stack.service import Service, Status
from tests.cli.programs import finished, output_until, program
from tests.isolation import isolated_settings
from tests.waits import eventually

SERVER = [sys.executable, "-m", "http.server", "--bind", LOOPBACK]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A stack of its own that has never been started, as the environment of this process names it."""
    found = isolated_settings(tmp_path / "home", FRAZIL_ENV_FILE=os.devnull)
    for name, value in found.env.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def web(settings: Settings) -> Iterator[Callable[[str, int], Service]]:
    """Makes services that are web servers; with port 0 one whose program ends at once."""
    made: list[Service] = []

    def build(name: str, port: int) -> Service:
        command = [*SERVER, str(port)] if port else [sys.executable, "-c", "raise SystemExit('broken')"]
        ports = (Port(port or unused(1)[0], "WEB_PORT"),)
        made.append(Service(name, settings.home, lambda _: command, lambda: None, ports, os.environ))
        return made[-1]

    yield build
    for service in made:
        service.stop()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_the_services_of_a_home(settings: Settings) -> None:
    assert [service.name for service in services(settings)] == ["seaweedfs", "kafka", "worker"]
    external = Settings({**settings.env, "KAFKA_BOOTSTRAP_SERVERS": "a:1", "KAFKA_CONNECT_URL": "http://a:2"})
    assert [service.name for service in services(external)] == ["seaweedfs"]


def test_the_worker_gets_the_settings_and_its_ports(settings: Settings) -> None:
    service = worker_service(settings)
    assert [port.number for port in service.ports] == [settings.connect_port, settings.actuator_port]
    assert service.env["FRAZIL_HOME"] == str(settings.home)
    assert service.env["KAFKA_EXTERNAL_PORT"] == str(settings.kafka_port)
    missing = service.ready()
    assert missing is not None
    assert f":{settings.connect_port}/health does not answer" in missing


def test_starting_and_stopping_is_shown(web: Callable[[str, int], Service], capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (web(name, port) for name, port in zip(("first", "second"), unused(2), strict=True))
    start_services([first], make_console())
    start_services([first, second], make_console())
    stop_services([first, second], make_console())
    stop_services([first], make_console())
    assert [
        re.sub(r"[0-9.]+ s", "N s", line).split("127")[0].strip() for line in capsys.readouterr().out.splitlines()
    ] == [
        "✓ first      ready in N s",
        "✓ first      runs already",
        "✓ second     ready in N s",
        "second     stopped",
        "first      stopped",
        "first      did not run",
    ]


def test_what_is_ready_goes_on_after_a_failed_start(
    web: Callable[[str, int], Service], capsys: pytest.CaptureFixture[str]
) -> None:
    before, mine, broken = web("before", unused(1)[0]), web("mine", unused(1)[0]), web("broken", 0)
    before.start(lambda text: None)
    with pytest.raises(ServiceDied, match="broken ended with exit code 1 while starting"):
        start_services([before, mine, broken], make_console())
    assert [service.state().status for service in (before, mine, broken)] == [
        Status.RUNNING,
        Status.RUNNING,
        Status.STOPPED,
    ]
    told = capsys.readouterr().out.splitlines()[-1]
    assert told == "before and mine go on running. Repeat the command for the rest, or stop them with `frazil stop`."


def test_a_port_that_is_taken_is_seen_before_anything_starts(web: Callable[[str, int], Service]) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        first, second = web("first", unused(1)[0]), web("second", taken.getsockname()[1])
        with pytest.raises(PortTaken, match=f"second needs port {taken.getsockname()[1]} .* set WEB_PORT to another"):
            start_services([first, second], make_console())
    assert not first.log.exists()


def test_two_stores_are_started_on_request_and_remembered(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(
        "frazil.cli.verbs.stack.start_services", lambda chosen, console: started.extend(one.name for one in chosen)
    )
    monkeypatch.setattr("frazil.stack.dual.find_nginx", lambda env: "nginx")
    for arguments, expected in (
        (["start", "--dual"], [*NAMES, "kafka", "worker"]),
        (["start"], [*NAMES, "kafka", "worker"]),
        (["start", "minio"], [*NAMES]),
        (["start", "dest2"], ["dest2"]),
    ):
        started.clear()
        assert run(*arguments).exit_code == 0, arguments
        assert sorted(started) == sorted(expected), arguments
    assert [row.address for row in look(settings).services if row.name == "nginx-dest"] == [settings.s3_endpoint]


def test_trino_the_registry_and_postgres_are_started_on_request_only(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(
        "frazil.cli.verbs.stack.start_services", lambda chosen, console: started.extend(one.name for one in chosen)
    )
    for arguments, expected in (
        (["start"], ["seaweedfs", "kafka", "worker"]),
        (["start", "trino"], ["trino"]),
        (["start", "--with", "trino"], ["seaweedfs", "kafka", "worker", "trino"]),
        (["start", "kafka", "--with", "trino"], ["kafka", "trino"]),
        (["start", "trino", "--with", "trino"], ["trino"]),
        (["start", "registry"], ["registry"]),
        (["start", "kafka", "--with", "postgres"], ["kafka", "postgres"]),
        (["start", "kafka", "--with", "trino", "--with", "registry"], ["kafka", "trino", "registry"]),
        (["restart"], ["seaweedfs", "kafka", "worker"]),
    ):
        started.clear()
        assert run(*arguments).exit_code == 0
        assert started == expected, arguments
    refused = run("start", "--with", "kafka")
    assert isinstance(refused.exception, UsageError)
    monkeypatch.setenv("TRINO_URL", "http://127.0.0.1:1")
    refused = run("start", "--with", "trino")
    assert isinstance(refused.exception, UsageError)
    assert "trino is not run here: TRINO_URL names another one" in str(refused.exception)
    monkeypatch.setenv("SCHEMA_REGISTRY_URL", "http://127.0.0.1:1")
    refused = run("start", "registry")
    assert "registry is not run here: SCHEMA_REGISTRY_URL names another one" in str(refused.exception)
    monkeypatch.setenv("AWS_RDS_ENDPOINT", "db.example")
    refused = run("start", "postgres")
    assert "postgres is not run here: AWS_RDS_ENDPOINT names another one" in str(refused.exception)
    rows = json.loads(run("status", "-o", "json").stdout)["services"]
    shown = [(row["name"], row["state"], row["address"]) for row in rows]
    assert ("registry", "external", "http://127.0.0.1:1") in shown
    assert ("postgres", "external", f"db.example:{settings.postgres_port}") in shown


def test_a_trino_that_has_ended_by_itself_was_requested(settings: Settings) -> None:
    assert requested(settings) == []
    (settings.home / "run").mkdir(parents=True)
    (settings.home / "run" / "trino.json").write_text('{"pid": 4194304, "started": 1}')
    assert [service.name for service in requested(settings)] == ["trino"]
    assert run("status").stdout.splitlines()[4].split()[:2] == ["trino", "died"]
    assert re.findall(r"(\w+) +did not run", run("stop").stdout) == ["trino", "worker", "kafka", "seaweedfs"]
    assert requested(settings) == []
    assert "trino" not in [row["name"] for row in json.loads(run("status", "-o", "json").stdout)["services"]]


@pytest.mark.parametrize("verb", ["start", "restart"])
def test_somebody_elses_service_is_not_started(settings: Settings, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    monkeypatch.setenv("MINIO_ENDPOINT", "http://127.0.0.1:1")
    refused = run(verb, "minio")
    assert isinstance(refused.exception, UsageError)
    assert "seaweedfs is not run here: MINIO_ENDPOINT names another one" in str(refused.exception)


def test_stopping_what_never_ran(settings: Settings) -> None:
    shown = run("stop")
    assert shown.exit_code == 0
    assert re.findall(r"(\w+) +did not run", shown.stdout) == ["worker", "kafka", "seaweedfs"]
    assert not settings.home.exists()


def test_logs_of_all_services_and_of_one(settings: Settings) -> None:
    settings.logs.mkdir(parents=True)
    (settings.logs / "kafka.log").write_text("one\ntwo\nthree\n")
    (settings.logs / "worker.log").write_text("ready\n")
    every = run("logs", "-n", "2")
    assert every.stdout == "kafka     | two\nkafka     | three\nworker    | ready\n"
    assert every.stderr == f"seaweedfs has no log yet ({settings.logs}/seaweedfs.log)\n"
    assert run("logs", "kafka-connect").stdout == "ready\n"
    (settings.logs / "trino.log").write_text("SERVER STARTED\n")
    assert run("logs", "-n", "1").stdout.endswith("trino     | SERVER STARTED\n")
    assert run("logs", "trino").stdout == "SERVER STARTED\n"


def test_logs_are_followed_until_interrupted(settings: Settings) -> None:
    settings.logs.mkdir(parents=True)
    log = settings.logs / "kafka.log"
    log.write_text("old\n")
    following = program(settings, "logs", "-f")
    output_until(following, "kafka     | old")
    with log.open("a") as file:
        file.write("new\n")
    output_until(following, "kafka     | new")
    following.send_signal(signal.SIGINT)
    assert finished(following) == (0, "")


def test_clean_does_not_remove_unasked(settings: Settings) -> None:
    (settings.home / "data").mkdir(parents=True)
    refused = run("clean")
    assert isinstance(refused.exception, UsageError)
    assert "nothing was removed; pass --yes to go on" in str(refused.exception)
    assert (settings.home / "data").exists()


@pytest.mark.parametrize(("answer", "removed"), [(b"n\n", False), (b"y\n", True)])
def test_clean_asks_on_a_terminal(settings: Settings, answer: bytes, removed: bool) -> None:
    (settings.home / "data").mkdir(parents=True)
    (settings.home / "mine").mkdir()
    ours, theirs = pty.openpty()
    asking = program(settings, "clean", stdin=theirs)
    os.write(ours, answer)
    code, shown = finished(asking)
    os.close(ours)
    os.close(theirs)
    assert code == (0 if removed else 1), shown
    assert f"Remove topics, tables, logs and connectors in {settings.home}?" in shown
    assert ("nothing was removed" in shown) is not removed
    assert (settings.home / "data").exists() is not removed
    assert (settings.home / "mine").exists()


def test_clean_of_a_home_that_does_not_exist(settings: Settings) -> None:
    shown = run("clean", "--yes")
    assert (shown.exit_code, shown.stdout) == (0, f"{settings.home} does not exist: nothing to clean.\n")


def test_uninstall_tells_before_it_removes(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FRAZIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert run("uninstall").stdout == "There is nothing to remove.\n"
    (settings.home / "data").mkdir(parents=True)
    (settings.home / "data" / "file").write_bytes(b"x" * 2048)
    shown = run("uninstall", "--dry-run", "-o", "json")
    told = {"what": "topics, tables, connectors, logs", "folder": str(settings.home), "bytes": 2048}
    assert json.loads(shown.stdout) == [told]
    refused = run("uninstall")
    assert isinstance(refused.exception, UsageError)
    assert settings.home.exists()
    done = run("uninstall", "--yes")
    assert (done.exit_code, "2.0 KiB" in done.stdout, settings.home.exists()) == (0, True, False)


@pytest.mark.stack
@pytest.mark.parametrize(
    "by", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.faults)], ids=["SIGINT", "SIGHUP"]
)
def test_start_is_interrupted_while_kafka_starts(settings: Settings, by: signal.Signals) -> None:
    starting = program(settings, "start")
    output_until(starting, "✓ seaweedfs")
    starting.send_signal(by)
    code, shown = finished(starting)
    assert code == 130, shown
    assert "Interrupted.\nseaweedfs goes on running. Repeat the command for the rest, or stop it with" in shown
    states = {service.name: service.state().status for service in services(settings)}
    assert states == {"seaweedfs": Status.RUNNING, "kafka": Status.STOPPED, "worker": Status.STOPPED}
    assert run("stop").exit_code == 0
    eventually(lambda: not [p for p in psutil.process_iter() if str(settings.home) in " ".join(_command(p))])


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


@pytest.mark.stack
def test_clean_stops_what_runs(settings: Settings) -> None:
    LocalStack(settings).embedded()[0].start(lambda text: None)
    shown = run("clean", "--yes")
    assert shown.exit_code == 0, shown.output
    assert "seaweedfs  stopped" in shown.stdout
    assert not settings.home.exists()


@pytest.mark.faults
@pytest.mark.trino
def test_trino_in_the_life_of_a_stack(settings: Settings) -> None:
    assert run("start", "seaweedfs", "--with", "trino").exit_code == 0
    assert {service.state().status for service in requested(settings)} == {Status.RUNNING}
    shown = json.loads(run("status", "-o", "json").stdout)["services"][-1]
    assert (shown["name"], shown["state"]) == ("trino", "running")
    assert shown["address"] == f"http://{LOOPBACK}:{settings.trino_port}"
    first = shown["pid"]
    answer = run("sql", "--engine", "trino", "SHOW CATALOGS", "--format", "csv")
    assert answer.exit_code == 0, answer.output
    assert settings.warehouse in answer.stdout
    assert run("restart", "trino").exit_code == 0  # a new process with no catalog of its own
    assert json.loads(run("status", "-o", "json").stdout)["services"][-1]["pid"] != first
    assert settings.warehouse in run("sql", "--engine", "trino", "SHOW CATALOGS").stdout
    cleaned = run("clean", "--yes")
    assert cleaned.exit_code == 0, cleaned.output
    assert "trino      stopped" in cleaned.stdout
    assert not settings.home.exists()
    refused = run("sql", "--engine", "trino", "SHOW CATALOGS")
    assert "Start it with `start trino`" in str(refused.exception)
