from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.connect.conftest import Program


@pytest.fixture
def alone(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Nothing in the environment names a worker."""
    monkeypatch.delenv("KAFKA_CONNECT_URL")
    return program


def test_the_first_context_is_used_until_another_is_chosen(
    alone: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "(in use)" in alone.ok("context", "set", "here", "--url", alone.url)
    alone.ok("context", "set", "there", "--url", "http://127.0.0.1:9")
    file = tmp_path / "config" / "frazil" / "contexts.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert alone.ok("get", "connectors", "-o", "json") == "{}\n"
    alone.ok("context", "use", "there")
    code, _, err = alone.run("get", "connectors")
    assert (code, "correct context there" in err) == (1, True)
    assert alone.ok("get", "connectors", "--context", "here", "-o", "json") == "{}\n"
    monkeypatch.setenv("FRAZIL_CONTEXT", "here")
    assert alone.ok("get", "connectors", "-o", "json") == "{}\n"
    monkeypatch.delenv("FRAZIL_CONTEXT")
    monkeypatch.setenv("KAFKA_CONNECT_URL", alone.url)
    assert alone.ok("get", "connectors", "-o", "json") == "{}\n"
    assert alone.ok("context", "list").endswith(f"Now: {alone.url} (KAFKA_CONNECT_URL)\n")
    assert json.loads(alone.ok("context", "list", "-o", "json"))["there"]["current"] is True
    alone.ok("context", "remove", "there")
    code, _, err = alone.run("context", "use", "there")
    assert (code, "there are: here" in err) == (1, True)


def test_a_password_is_named_and_not_kept(alone: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone.ok("context", "set", "x", "--url", alone.url, "--user", "ops", "--password-env", "OPS_PASSWORD")
    code, _, err = alone.run("get", "connectors")
    assert (code, "the variable OPS_PASSWORD, which has the password, is empty" in err) == (2, True)
    monkeypatch.setenv("OPS_PASSWORD", "top-secret")
    assert alone.ok("get", "connectors", "-o", "json") == "{}\n"
    assert "top-secret" not in (tmp_path / "config" / "frazil" / "contexts.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--url", "ftp://x"), "is not a URL that starts with http"),
        (("--url", "http://user:pw@x"), "the URL has credentials in it"),
        (("--url", "http://far.example:8083", "--user", "a", "--password-env", "B"), "sent over https only"),
        (("--url", "http://x", "--password-env", "B"), "a password needs a --user"),
        (("--url", "https://x", "--ca-file", "/no/such/file"), "there is no file /no/such/file"),
        (("--url", "https://x", "--user", "a", "--password-file", "/no/such/file"), "cannot be read"),
    ],
)
def test_contexts_that_cannot_be_used_are_not_set(alone: Program, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = alone.run("context", "set", "x", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert json.loads(alone.ok("context", "list", "-o", "json")) == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"current": "", "contexts": {"x": {"url": "http://x", "pass": "y"}}}'])
def test_a_damaged_file_of_contexts_is_told(alone: Program, tmp_path: Path, text: str) -> None:
    file = tmp_path / "config" / "frazil" / "contexts.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    code, _, err = alone.run("get", "connectors")
    assert (code, str(file) in err) == (2, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(program: Program, shell: str) -> None:
    assert "_FRAZIL_COMPLETE" in program.ok("completion", shell)


def test_the_shell_is_offered_connectors(program: Program) -> None:
    from tests.cli.connect.conftest import SINK

    program.client.put_config("my-sink", SINK)
    words = {"COMP_WORDS": "frazil pause connector my", "COMP_CWORD": "3", "_FRAZIL_COMPLETE": "complete_bash"}
    answer = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'frazil'; from frazil.cli.main import main; main()"],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == ["my-sink"]
