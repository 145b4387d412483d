"""Requests to a service of this machine that tell whether it is ready."""

import ssl
from collections.abc import Mapping

import httpx

from frazil.stack.service import ANSWER_S

# To read what a client trusts takes longer than a request, and is needed for https only.
_TRUSTING_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def answer(url: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """Ask over plain HTTP. Raises httpx.HTTPError."""
    return httpx.get(url, headers=headers, timeout=ANSWER_S, trust_env=False, verify=_TRUSTING_NOBODY)
