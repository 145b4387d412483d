"""Warnings about a configuration in the header `Warning` of answers, which clients of Kafka Connect pass over."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import Response

from frazil.connectors.registry import warnings_of

_MOST, _LONGEST = 20, 500
_PLAIN = " !#$&'()*+,/:;<=>?@[]^`{|}~"


def with_warnings(response: Response, config: Mapping[str, str]) -> Response:
    """The answer with a header `299 frazil "…"` for each warning, percent-encoded."""
    for text in warnings_of(config)[:_MOST]:
        response.headers.append("Warning", f'299 frazil "{quote(text[:_LONGEST], safe=_PLAIN)}"')
    return response
