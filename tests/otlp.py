"""A receiver of OpenTelemetry's traces and metrics over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.web import Handler, running


class Receiver(ThreadingHTTPServer):
    """Takes both; `spans` are all of them, `metrics` the newest, `resources` the attributes of who sent them."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.resources: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def named(self, name: str) -> Any:
        [found] = [span for span in self.spans if span.name == name]
        return found


class _Handler(Handler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.body()
        self.server.headers.append(dict(self.headers))
        {"/v1/traces": self._take_spans, "/v1/metrics": self._take_metrics}[self.path](body)
        self.send_response(200)
        self.end_headers()

    def _take_spans(self, body: bytes) -> None:
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        for part in request.resource_spans:
            self._note(part.resource)
            self.server.spans += [span for scope in part.scope_spans for span in scope.spans]

    def _take_metrics(self, body: bytes) -> None:
        request = ExportMetricsServiceRequest()
        request.ParseFromString(body)
        for part in request.resource_metrics:
            self._note(part.resource)
            self.server.metrics = {metric.name: metric for scope in part.scope_metrics for metric in scope.metrics}

    def _note(self, resource: Any) -> None:
        self.server.resources.append({one.key: one.value.string_value for one in resource.attributes})


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver until the end of the block, which leaves the process' variables of OpenTelemetry as they were."""
    before = {name: text for name, text in os.environ.items() if name.startswith("OTEL_")}
    try:
        with running(Receiver()) as server:
            yield server
    finally:
        for name in [name for name in os.environ if name.startswith("OTEL_")]:
            del os.environ[name]
        os.environ.update(before)


def attributes(span: Any) -> dict[str, Any]:
    """Attributes of a span by name."""
    return {one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes}
