"""Answers of servers that may be slow, or never end."""

import time
from typing import Any

import httpx

_MOST_BYTES = 16 << 20
"""Largest answer: many times what a schema has."""
_DECODED = ("content-encoding", "content-length", "transfer-encoding")


def whole_answer(
    http: httpx.Client, method: str, url: str, most_bytes: int = _MOST_BYTES, **request: Any
) -> httpx.Response:
    """Ask, and read the answer's body while it comes in the client's read timeout (seconds) and has so many bytes.

    A client's own timeout is that between two pieces, however many there are. Raises httpx.HTTPError.
    """
    seconds = http.timeout.read
    deadline = None if seconds is None else time.monotonic() + seconds
    body = bytearray()
    with http.stream(method, url, **request) as answer:
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > most_bytes:
                raise httpx.ReadError(f"its answer has more than {most_bytes:,} bytes")
            if deadline is not None and time.monotonic() > deadline:
                raise httpx.ReadTimeout(f"its answer is not there after {seconds:g} s")
    headers = [(name, value) for name, value in answer.headers.multi_items() if name not in _DECODED]
    return httpx.Response(answer.status_code, headers=headers, content=bytes(body), request=answer.request)
