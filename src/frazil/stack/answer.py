"""Requests to a service of this machine, over plain HTTP."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.stack.service import ANSWER_S

if TYPE_CHECKING:
    import httpx

# To read what a client trusts takes longer than a request, and is needed for https only.
_TRUSTING_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def answer(url: str, headers: Mapping[str, str] | None = None, timeout_s: float = ANSWER_S) -> httpx.Response:
    """Ask over plain HTTP. Raises httpx.HTTPError."""
    import httpx

    return httpx.get(url, headers=headers, timeout=timeout_s, trust_env=False, verify=_TRUSTING_NOBODY)


def unanswered(url: str) -> str | None:
    """Tell why a service is not ready; None when the address gives what it is asked for."""
    import httpx

    try:
        answer(url).raise_for_status()
    except httpx.HTTPError as error:
        return f"{url} does not answer ({error})"
    return None
