from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from frazil.cli.main import main
from frazil.cli.ui.program import GROUPS
from frazil.environment.variables import VARIABLES
from frazil.stack.ports import unused
from tests.waits import PATIENCE_S

HEAVY = ("pyspark", "pyiceberg", "pyarrow", "pandas", "duckdb", "sqlglot", "boto3", "confluent_kafka", "httpx")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home that does not exist yet, ports where nothing listens, and no file with variables."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path / "home"))
    names = ("KAFKA_EXTERNAL_PORT", "DEST_API_PORT", "ICEBERG_CATALOG_PORT", "KAFKA_CONNECT_PORT", "ACTUATOR_PORT")
    for name, port in zip(names, unused(len(names)), strict=True):
        monkeypatch.setenv(name, str(port))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the program."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    shown = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, shown.out, shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Connectors:"),
        (["nope"], "No such command 'nope'"),
        (["--nope"], "No such option: --nope"),
        (
            ["start", "nope"],
            "frazil: unknown service nope; known: kafka, seaweedfs, worker, trino, registry, postgres, minio, "
            "kafka-connect",
        ),
        (["logs", "nope"], "frazil: unknown service nope"),
        (["logs", "-n", "-1"], "Invalid value for '--lines' / '-n'"),
        (
            ["produce", "nope"],
            "frazil: `nope` is no topic of log records, which are: apilogs, errorlogs, auditlogs. Records",
        ),
        (["produce", "-n", "0"], "frazil: -n must be more than 0, not 0"),
        (["produce", "-n", "many"], "'many' is not a whole number"),
        (["query", "-n", "1.5"], "'1.5' is not a whole number"),
        (["wait", "connector", "a", "--for", "X"], "'X' is not one of 'running', 'paused', 'stopped'"),
        (["wait", "connector", "a", "--for", "RUNNING", "--timeout", "soon"], "soon is not a duration; write seconds"),
        (["validate", "x", "--sample", "-1"], "'-1' is less than 0"),
        (["produce", "--nope"], "No such option: --nope"),
        (["generate"], "Missing argument 'kind'"),
        (["generate", "nope"], "frazil: unknown kind `nope`; choose one of: api, error, audit, all"),
        (["generate", "all", "-n", "-3"], "frazil: -n must be more than 0, not -3"),
        (["continuous", "-i", "0"], "frazil: --interval must be more than 0 seconds, not 0"),
        (["continuous", "-i", "1e300"], "and at most a day"),
        (["continuous", "-b", "0"], "frazil: --batch must be more than 0, not 0"),
        (["query", "apilogs", "-n", "0"], "frazil: -n 0: expected a number of rows from 1 on"),
        (["sql", "SELECT 1", "--file", "x"], "frazil: give the statements either as an argument"),
        (["status", "-o", "xml"], "not one of 'table', 'json', 'yaml'"),
        (["status", "-o", "name"], "'name' is for verbs that list"),
        (["demo", "now"], "'now' is not one of 'logs', 'cdc'"),
    ],
)
def test_wrong_usage_is_said_on_standard_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_an_output_that_is_full_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "frazil.cli.main", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr == (
        "frazil: what it writes to takes no more: No space left on device. The output is not complete; "
        "make room there.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "part", "command"),
    [
        (["query"], "the Iceberg catalog at http", "start seaweedfs"),
        (["sql", "SHOW TABLES"], "the Iceberg catalog at http", "start seaweedfs"),
        (["groups", "list"], "Kafka at ", "start kafka"),
        (["get", "connectors"], "the worker at http", "start"),
        (["verify", "c"], "the worker at http", "start"),
    ],
)
def test_a_part_of_the_stack_that_does_not_answer_is_told_with_its_address_and_home(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], part: str, command: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (1, "")
    home = re.escape(f"The home of this stack is {tmp_path / 'home'}; FRAZIL_HOME names another.")
    assert re.fullmatch(rf"frazil: .*{part}.*127\.0\.0\.1:\d+ does not answer .*`{command}`.*(?<!\.)\. {home}\n", err)


@pytest.mark.parametrize(
    ("variable", "value", "arguments"),
    [
        ("ICEBERG_CATALOG_URI", "http://localhost:1", ["query"]),
        ("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1", ["groups", "list"]),
        ("KAFKA_CONNECT_URL", "http://127.0.0.1:1", ["get", "connectors"]),
    ],
)
def test_a_part_of_others_has_no_home(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str, value: str, arguments: list[str]
) -> None:
    monkeypatch.setenv(variable, value)
    code, _, err = run(capsys, *arguments)
    assert code == 1
    assert f"correct {variable}" in err or f"or {variable}" in err
    assert "The home" not in err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("KAFKA_EXTERNAL_PORT", "abc", "KAFKA_EXTERNAL_PORT=abc: expected a port number"),
        ("MINIO_ENDPOINT", "127.0.0.1:9000", "expected a URL that starts with http:// or https://"),
        ("FRAZIL_ENV_FILE", "/nosuch.env", "there is no such file"),
    ],
)
def test_a_wrong_variable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    monkeypatch.setenv(name, value)
    code, out, err = run(capsys, "status")
    assert (code, out) == (2, "")
    assert message in err


def test_a_wrong_value_in_the_file_of_variables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KAFKA_CONTROLLER_PORT=99999\n")
    code, _, err = run(capsys, "status")
    assert code == 2
    assert err == "frazil: KAFKA_CONTROLLER_PORT=99999: expected a port between 1 and 65535\n"


def test_a_file_of_variables_that_is_no_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"MINIO_SECRET_KEY=\xff\n")
    code, _, err = run(capsys, "status")
    assert code == 2
    assert err == "frazil: .env is not UTF-8 text (invalid start byte at byte 17); correct it\n"


@pytest.mark.parametrize("arguments", [["start", "seaweedfs"], ["clean", "--yes"]])
def test_a_home_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path / "file"))
    code, _, err = run(capsys, *arguments)
    assert code == 1
    assert "Not a directory" in err
    assert "FRAZIL_HOME" in err
    assert (tmp_path / "file").read_text() == "kept"


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"frazil {version('frazil')}\n", "")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    code, out, err = run(capsys, flag)
    assert (code, err) == (0, "")
    assert out.startswith("Usage: frazil [OPTIONS] COMMAND")


def process(*arguments: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "frazil.cli.main", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload,no-any-return]


def test_a_reader_that_goes_away_ends_the_program_without_a_trace(tmp_path: Path) -> None:
    log = tmp_path / "home" / "logs" / "kafka.log"
    log.parent.mkdir(parents=True)
    log.write_text("a line of the log\n" * 100_000)
    ours, theirs = os.pipe()
    writer = process("logs", "kafka", "-n", "100000", stdout=theirs)
    os.close(theirs)
    assert os.read(ours, 10)
    os.close(ours)
    assert writer.communicate(timeout=PATIENCE_S)[1] == ""
    assert writer.returncode == 1


def test_output_that_is_written_at_the_very_end_to_nobody() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    writer = process("-h", stdout=theirs, env={**os.environ, "PYTHONUNBUFFERED": ""})
    os.close(theirs)
    assert writer.communicate(timeout=PATIENCE_S)[1] == ""
    assert writer.returncode == 1


def test_an_interrupt_that_no_verb_has_dealt_with(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("frazil.cli.main.app", interrupted)
    assert run(capsys, "status") == (130, "", "")


def test_an_interrupt_during_an_import_is_not_what_the_program_ends_with(tmp_path: Path) -> None:
    interrupted = 'try:\n    exec("raise KeyboardInterrupt")\nexcept KeyboardInterrupt:\n    pass\n'
    (tmp_path / "interrupted.py").write_text(f'{interrupted}from frazil.cli.main import main\nmain(["--version"])\n')
    ended = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_without_a_home_directory_of_the_user(tmp_path: Path) -> None:
    env = {name: os.environ[name] for name in ("PATH", "KAFKA_CONNECT_PORT", "DEST_API_PORT", "KAFKA_EXTERNAL_PORT")}
    shown = subprocess.run(
        [sys.executable, "-m", "frazil.cli.main", "status"], env=env, capture_output=True, text=True, cwd=tmp_path
    )
    assert (shown.returncode, shown.stderr) == (1, "")
    assert "kafka      stopped" in shown.stdout


def test_the_program_starts_without_what_only_some_verbs_need() -> None:
    code = f"import sys, frazil.cli.main; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_each_verb_of_the_general_help_is_in_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "-h")
    assert code == 0
    assert "Kafka topics become Iceberg tables" in out
    sections = [line for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert sections == ["Options:", *(f"{name}:" for name in GROUPS)]
    for name in (name for names in GROUPS.values() for name in names):
        assert re.search(rf"^  {name} +\w", out, re.MULTILINE), name
