"""Traces of batches, sent by OTLP: a batch is a trace, whose spans are its runs over the records, their tasks, and its
commit. Records with a `traceparent` are linked.

Without the variables of OpenTelemetry nothing is traced, and its packages are not imported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pyspark.sql import SparkSession

from frazil.clients.kafka.ranges import Range
from frazil.connectors.keys.versions import VERSION
from frazil.connectors.sink import Due, SinkTask
from frazil.engine.jobs import ConnectorJobs
from frazil.environment.extras import extra
from frazil.environment.otlp import is_wanted, resource_of
from frazil.pipeline.executor import Executor, TaskCall
from frazil.pipeline.report import BatchReport
from frazil.pipeline.rows import Rows
from frazil.pipeline.source import Source

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

T = TypeVar("T")

_TRACEPARENT = "traceparent"
_COUNTS = ("stored", "dead_letters", "skipped", "files", "bytes_written")
_LINKS = 128
"""Links of a batch, which are as many as OpenTelemetry keeps of one span."""


def traces_of(env: Mapping[str, str], worker_id: str, hide: Callable[[str], str]) -> Traces | None:
    """Traces as OpenTelemetry's variables ask for them; None when they do not. `hide` takes secrets out of texts.

    Raises ConfigError for an exporter or a protocol that there is not, and without the extra `otel`.
    """

    if not is_wanted(env, "traces"):
        return None
    return Traces(env, worker_id, hide)


class Traces:
    """Sends the traces of the batches of all connectors of a worker."""

    def __init__(self, env: Mapping[str, str], worker_id: str, hide: Callable[[str], str]) -> None:
        with extra("otel"):
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        self._provider = TracerProvider(resource=resource_of(env, worker_id))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("frazil", VERSION)
        self._hide = hide

    def of(self, connector: str, jobs: Executor) -> TracedJobs:
        """The executor of a connector, whose batches are traced."""
        return TracedJobs(connector, jobs, self._tracer, self._hide)

    def close(self) -> None:
        """Send what waits, and end."""
        self._provider.shutdown()


class TracedJobs:
    """The executor of a connector, which has one batch at a time; see `ConnectorJobs`."""

    def __init__(self, connector: str, jobs: Executor, tracer: Tracer, hide: Callable[[str], str]) -> None:
        self._connector = connector
        self._jobs = jobs
        self._tracer = tracer
        self._hide = hide
        self._span: Span | None = None

    @property
    def parallelism(self) -> int:
        """See `Executor`."""
        return self._jobs.parallelism

    def in_session(self, do: Callable[[SparkSession], T], what: str) -> T:
        """See `ConnectorJobs`."""
        return cast(ConnectorJobs, self._jobs).in_session(do, what)

    def step(self, task: SinkTask, due: Due, committed: Callable[[BatchReport], None]) -> None:
        """Let a task store a batch, as a trace; see `SinkTask`."""
        from opentelemetry.trace import SpanKind

        told = {"messaging.system": "kafka", "messaging.operation.type": "process", "frazil.connector": self._connector}
        self._span = self._tracer.start_span(f"batch {self._connector}", kind=SpanKind.CONSUMER, attributes=told)
        try:
            with self._failing(self._span):
                task.step(due, lambda report: committed(self._noted(report)))
        finally:
            self._span.end()
            self._span = None

    def _noted(self, report: BatchReport) -> BatchReport:
        """Note what a batch has committed; its report with the id of the trace, if that is sampled."""
        span, now = self._span, time.time_ns()
        if span is None:
            return report
        if report.commit_s:
            self._child("commit", now - round(report.commit_s * 1e9), now, {"frazil.files": report.files})
        counts = {name: getattr(report, name) for name in _COUNTS}
        span.set_attributes(
            {
                "messaging.batch.message_count": report.read,
                "frazil.places": list(report.places),
                **{f"frazil.{name}": count for name, count in counts.items()},
            }
        )
        told = span.get_span_context()
        return replace(report, trace_id=f"{told.trace_id:032x}" if told.trace_flags.sampled else "")

    def run(self, calls: Sequence[TaskCall[T]], what: str, records: int | None = None) -> list[T]:
        """See `Executor`; within a batch the calls are spans of it."""
        if self._span is None:
            return self._jobs.run(calls, what, records)
        with self._run(what) as span:
            found = self._jobs.run([_Timed(call) for call in calls], what, records)
            for number, ran in enumerate(found):
                self._child(f"task {number}", ran.begin_ns, ran.end_ns, {}, span)
            self._link({parent for ran in found for parent in ran.parents})
        return [ran.result for ran in found]

    @contextmanager
    def _run(self, what: str) -> Iterator[Span]:
        from opentelemetry.trace import set_span_in_context

        assert self._span is not None  # noqa: S101 - asked before
        span = self._tracer.start_span("tasks", set_span_in_context(self._span), attributes={"frazil.ranges": what})
        try:
            with self._failing(span):
                yield span
        finally:
            span.end()

    def _child(
        self, name: str, begin_ns: int, end_ns: int, attributes: Mapping[str, int], parent: Span | None = None
    ) -> None:
        from opentelemetry.trace import set_span_in_context

        within = parent or self._span
        assert within is not None  # noqa: S101 - asked before
        context = set_span_in_context(within)
        self._tracer.start_span(name, context, start_time=begin_ns, attributes=attributes).end(end_ns)

    def _link(self, parents: set[str]) -> None:
        from opentelemetry.trace import get_current_span
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        for parent in sorted(parents)[:_LINKS]:
            told = get_current_span(TraceContextTextMapPropagator().extract({_TRACEPARENT: parent})).get_span_context()
            if told.is_valid and self._span is not None:
                self._span.add_link(told)

    @contextmanager
    def _failing(self, span: Span) -> Iterator[None]:
        from opentelemetry.trace import StatusCode

        try:
            yield
        except BaseException as error:
            span.set_status(StatusCode.ERROR, self._hide(str(error)))
            span.set_attribute("error.type", type(error).__name__)
            raise


@dataclass(frozen=True)
class _Ran:
    """Result of a task, when it ran, and the `traceparent`s of its records."""

    result: Any
    begin_ns: int
    end_ns: int
    parents: tuple[str, ...]


@dataclass(frozen=True)
class _Timed:
    """Call of a task that is traced; see `TaskCall`."""

    call: TaskCall[Any]

    def __call__(self) -> _Ran:
        parents: dict[str, None] = {}
        call: Any = self.call
        if isinstance(source := getattr(call, "source", None), Source):
            call = replace(call, source=_Watched(source.consumer, True, replace(source, headers=True), parents))
        begin = time.time_ns()
        result = call()
        return _Ran(result, begin, time.time_ns(), tuple(parents))


@dataclass(frozen=True)
class _Watched(Source):
    """A source that notes the `traceparent`s of the first records that have one."""

    source: Source
    parents: dict[str, None]

    def read(self, ranges: Sequence[Range]) -> Generator[Rows]:
        for rows in self.source.read(ranges):
            for headers in rows.headers or ():
                if len(self.parents) >= _LINKS:
                    break
                found = [value for name, value in headers if name == _TRACEPARENT and value]
                self.parents.update((value.decode(errors="replace"), None) for value in found)
            yield rows
