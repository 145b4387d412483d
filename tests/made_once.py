"""What many tests would make again, once per process: to make it takes longer than what they do with it."""

from __future__ import annotations

import os
import ssl
from functools import cache
from importlib import import_module
from typing import Any

import typer.main

_httpx: Any = import_module("httpx._transports.default")
_typer: Any = import_module("typer.testing")
_context = _httpx.create_ssl_context


def install() -> None:
    """Let clients of HTTP share what they trust, and calls of the program its tree of verbs."""
    _httpx.create_ssl_context = _shared
    typer.main.get_command = _typer._get_command = cache(typer.main.get_command)  # noqa: SLF001


def _shared(verify: ssl.SSLContext | str | bool = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is not True or cert is not None:
        made: ssl.SSLContext = _context(verify, cert, trust_env)
        return made
    return _trusting(trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _trusting(trust_env: bool, *variables: str | None) -> ssl.SSLContext:
    """`variables` are those that the result depends on."""
    made: ssl.SSLContext = _context(trust_env=trust_env)
    return made
