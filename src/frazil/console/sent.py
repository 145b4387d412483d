"""Forms of pages, as they are sent."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from anyio import from_thread
from starlette.requests import Request

from frazil.worker.rest.body import read_bytes


def fields_of(request: Request) -> Mapping[str, Sequence[str]]:
    """The fields of a form with their values. Raises HTTPException 413 for one that is too long."""
    return parse_qs(from_thread.run(read_bytes, request).decode(errors="replace"), keep_blank_values=True)
