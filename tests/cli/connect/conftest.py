"""The verbs for connectors in front of a real REST API, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from frazil.cli.main import main
from frazil.clients.connect import ConnectClient
from frazil.environment.variables import VARIABLES
from tests.connectors.samples import MINIMAL_SINK
from tests.rest_worker import rest_worker
from tests.worker.lifecycle.runners import ScriptedFactory

SINK = {key: value for key, value in MINIMAL_SINK.items() if key != "name"}
"""A configuration that is of any name."""


@dataclass
class Program:
    """Runs the program against a worker; `client` sees what it has done, `factory` has the worker's queries."""

    client: ConnectClient
    url: str
    capture: pytest.CaptureFixture[str]
    factory: ScriptedFactory

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        shown = self.capture.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    def ok(self, *arguments: str) -> str:
        """Standard output of a command that succeeds and has nothing to complain about."""
        code, out, err = self.run(*arguments)
        assert (code, err) == (0, ""), (code, out, err)
        return out


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Program]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path / "home"))
    with rest_worker(tmp_path / "worker") as (url, factory), ConnectClient(url) as client:
        monkeypatch.setenv("KAFKA_CONNECT_URL", url)
        yield Program(client, url, capsys, factory)
