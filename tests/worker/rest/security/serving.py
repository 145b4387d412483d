"""What tests of the REST API's security share."""

from __future__ import annotations

from collections.abc import Callable

Serve = Callable[..., list[str]]
"""Serves with these keys of a worker on free ports; the addresses, as `{0}`, `{1}` in the keys."""
