"""A schema registry in this process: it answers what a test says, also wrongly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from frazil.clients.registry.client import registry_client
from frazil.pipeline.schemas import converter
from tests import web

UNKNOWN = 404, {"error_code": 40403, "message": "Schema not found"}


@dataclass
class Registry:
    """Answers by path, `(status, body)` or a body; `asked` are the paths so far, `seen` the last headers."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)
    url: str = ""


@contextmanager
def served(answers: dict[str, Any]) -> Iterator[Registry]:
    """Serve until the end of the block. Nothing is known of an earlier one, which may have had the same port."""
    converter._reader.cache_clear()  # noqa: SLF001
    registry_client.cache_clear()
    registry = Registry(answers)

    class Answering(web.Handler):
        def do_GET(self) -> None:
            registry.asked.append(self.path)
            registry.seen = dict(self.headers)
            found = registry.answers.get(self.path, UNKNOWN)
            status, body = found if isinstance(found, tuple) else (200, found)
            self.answer(status, body if isinstance(body, bytes) else json.dumps(body).encode())

    with web.served(Answering) as registry.url:
        yield registry
