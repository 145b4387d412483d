from __future__ import annotations

import logging
import re
import sys
import threading

import pytest

from frazil.declare.providers import ConfigProviders, EnvironmentProvider
from frazil.worker.watch import logs
from frazil.worker.watch.logs import Flood, Formatter


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
