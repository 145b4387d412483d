"""A schema registry in this process: it answers what a test says, also wrongly."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from frazil.clients.registry.client import registry_client
from frazil.environment.settings import LOOPBACK
from frazil.pipeline.schemas import converter

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

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append(self.path)
            registry.seen = dict(self.headers)
            found = registry.answers.get(self.path, UNKNOWN)
            status, body = found if isinstance(found, tuple) else (200, found)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
    registry.url = f"http://{LOOPBACK}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
