"""The worker's log: lines on stderr, which the service keeps in a file."""

from __future__ import annotations

import logging
import sys
import time

from frazil.declare.providers import ConfigProviders

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), 127)}
"""Control characters of records and servers, which could steer the terminal that shows the log; lines and tabs stay."""


class Formatter(logging.Formatter):
    """Lines with the time in UTC, without the secrets of connectors, whoever logs them."""

    def __init__(self, providers: ConfigProviders) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime
        self._providers = providers

    def format(self, record: logging.LogRecord) -> str:
        return self._providers.hide(super().format(record)).translate(_CONTROLS)


def log_to_stderr(providers: ConfigProviders) -> None:
    """Make the root logger write to stderr; libraries that talk much are heard from WARN on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter(providers))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for noisy in ("py4j", "pyiceberg", "botocore", "httpx", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)  # what a batch raises is logged with its reason
