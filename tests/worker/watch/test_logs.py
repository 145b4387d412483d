from __future__ import annotations

import logging
import re
import sys

from frazil.declare.providers import ConfigProviders, EnvironmentProvider
from frazil.worker.watch.logs import Formatter


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
