from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading

import pytest

from frazil.connectors.keys.versions import VERSION
from frazil.declare.providers import ConfigProviders, EnvironmentProvider
from frazil.worker.watch import logs
from frazil.worker.watch.logs import EcsFormatter, Flood, Formatter


def test_values_of_providers_are_in_no_line_and_no_trace() -> None:
    providers = ConfigProviders({"env": EnvironmentProvider({"S": "s3cr3t"})})
    providers.resolve({"k": "${env:S}"})
    try:
        raise ValueError("with s3cr3t")
    except ValueError:
        record = logging.LogRecord("n", logging.INFO, "f", 1, "has %s", ("s3cr3t",), sys.exc_info())
    text = Formatter(providers).format(record)
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO n: has \[hidden\]\n", text)
    assert text.endswith("ValueError: with [hidden]")
    assert "s3cr3t" not in text


def test_lines_of_json_have_the_fields_of_ecs_and_no_secret() -> None:
    secret = 's3"cr\\3t'
    providers = ConfigProviders({"env": EnvironmentProvider({"S": secret})})
    providers.resolve({"k": "${env:S}"})
    try:
        raise ValueError(f"with {secret}")
    except ValueError:
        record = logging.LogRecord("frazil.x", logging.ERROR, "f", 1, "has\n\x7f%s", (secret,), sys.exc_info())
    record.created, record.labels = 1_700_000_000.25, {"connector": "c", "table": ["n.t"]}
    text = EcsFormatter(providers).format(record)
    assert "cr" + "\\" not in text
    assert not {"\n", "\x7f"} & set(text)
    line = json.loads(text)
    trace = line.pop("error.stack_trace")
    assert trace.startswith("Traceback") and trace.endswith("ValueError: with [hidden]")
    assert (line.pop("process.pid"), line.pop("process.thread.name")) == (os.getpid(), "MainThread")
    assert line == {
        "@timestamp": "2023-11-14T22:13:20.250+00:00",
        "log.level": "ERROR",
        "message": "has\n\x7f[hidden]",
        "ecs.version": "8.11.0",
        "service.name": "frazil",
        "service.version": VERSION,
        "log.logger": "frazil.x",
        "labels": {"connector": "c", "table": ["n.t"]},
        "error.type": "ValueError",
        "error.message": "with [hidden]",
    }


@pytest.mark.parametrize(("json_lines", "expected"), [(False, "Z INFO frazil.x: hello"), (True, '"message": "hello"')])
def test_a_worker_logs_as_it_is_asked(json_lines: bool, expected: str) -> None:
    script = (
        "import logging; from frazil.declare.providers import ConfigProviders; from frazil.worker.watch import logs; "
        "from frazil.worker.watch.events import EventLog; "
        f"logs.log_to_stderr(ConfigProviders({{}}), EventLog(), json_lines={json_lines}); "
        "logging.getLogger('frazil.x').info('hello')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert expected in line


def test_control_characters_are_shown() -> None:
    record = logging.LogRecord("n", logging.INFO, "f", 1, "a\x00b\x1b[2J\tc\r\nd\x7f", (), None)
    assert Formatter(ConfigProviders({})).format(record).endswith("a\\x00b\\x1b[2J\tc\\x0d\nd\\x7f")


def test_the_end_of_a_thread_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(threading, "excepthook", logs._tell_end)  # noqa: SLF001
    thread = threading.Thread(target=lambda: sys.exit(3), name="t")
    thread.start()
    thread.join()
    assert "thread t has ended by a fault of the program" in caplog.text
    assert "SystemExit: 3" in caplog.text


def test_a_flood_of_one_logger_is_cut_off_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    flood = Flood(most=3, window_s=10.0)

    def passes(name: str, at: float, level: int = logging.ERROR) -> bool:
        record = logging.LogRecord(name, level, "f", 1, "x", (), None)
        record.created = at
        return flood.filter(record)

    assert [passes("a", at) for at in (0.0, 1.0, 2.0, 3.0, 9.9)] == [True, True, True, False, False]
    assert passes("b", 3.0)
    assert passes("a", 3.0, logging.DEBUG)
    assert caplog.text == ""
    assert passes("a", 10.0)
    assert "2 more records of a are not in this log" in caplog.text
