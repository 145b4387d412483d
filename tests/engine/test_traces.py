"""Traces of batches, as an OTLP receiver gets them over HTTP."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator

import pytest
from pyspark import cloudpickle

from frazil.connectors.iceberg.sink_task import IcebergSinkTask
from frazil.connectors.sink import Due, SinkContext
from frazil.engine import traces as traces_module
from frazil.engine.traces import Traces, traces_of
from frazil.errors import BadRecord, ConfigError
from frazil.pipeline.executor import InlineExecutor
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from tests.connectors.broker import BOOTSTRAP
from tests.connectors.iceberg.driver import SIMPLE, TABLE, Driver, Memory, memory, record
from tests.otlp import Receiver, attributes, receiving

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
def one() -> Iterator[Memory]:
    with memory({TABLE: SIMPLE}) as made:
        yield made


def opened(receiver: Receiver, **more: str) -> Traces:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, **more}
    found = traces_of(env, "127.0.0.1:8083", lambda text: text.replace("swordfish", "[hidden]"))
    assert found is not None
    return found


class Started:
    """The task of a driver in memory, and the executor that traces it."""

    def __init__(self, traces: Traces, driver: Driver) -> None:
        self.jobs = traces.of("c", InlineExecutor())
        source, context = driver.broker.source(), SinkContext(self.jobs)
        self.task = IcebergSinkTask(driver.config, BOOTSTRAP, driver.catalog, ["t"], source, None, context)

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        self.jobs.step(self.task, due, committed)

    def due(self, ends: Offsets) -> Due:
        return self.task.due(ends, 0)


def test_a_batch_is_a_trace_with_its_runs_tasks_and_commit(receiver: Receiver, one: Memory) -> None:
    broker, catalog = one
    traces, driver = opened(receiver), Driver(broker, catalog, {})
    task = Started(traces, driver)
    broker.send("t", [record(n) for n in range(5)])
    reports: list[BatchReport] = []
    task.step(task.due(broker.ends("t")), reports.append)
    traces.close()
    batch, tasks, first, commit = (receiver.named(name) for name in ("batch c", "tasks", "task 0", "commit"))
    assert [reports[0].trace_id] == [batch.trace_id.hex()] and driver.column(TABLE) == list(range(5))
    assert (batch.parent_span_id, batch.kind) == (b"", batch.SPAN_KIND_CONSUMER)
    assert tasks.parent_span_id == commit.parent_span_id == batch.span_id
    assert first.parent_span_id == tasks.span_id
    assert {span.trace_id for span in receiver.spans} == {batch.trace_id}
    assert batch.start_time_unix_nano <= tasks.start_time_unix_nano <= first.start_time_unix_nano
    assert first.end_time_unix_nano <= tasks.end_time_unix_nano <= batch.end_time_unix_nano
    told = attributes(batch)
    assert told["frazil.connector"] == "c" and told["messaging.system"] == "kafka"
    assert (told["messaging.batch.message_count"], told["frazil.stored"], told["frazil.files"]) == (5, 5, 1)
    assert [one.string_value for one in told["frazil.places"].values] == [TABLE]
    assert attributes(tasks) == {"frazil.ranges": "t-0 0..5"}
    assert (
        receiver.resources[0].items()
        >= {
            "service.name": "frazil",
            "service.instance.id": "127.0.0.1:8083",
        }.items()
    )


def test_records_that_belong_to_traces_are_linked(
    receiver: Receiver, one: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces_module, "_LINKS", 2)
    broker, catalog = one
    traces = opened(receiver)
    task = Started(traces, Driver(broker, catalog, {}))
    broker.send("t", [record(1)] * 20, headers=[("traceparent", PARENT.encode()), ("other", None)])
    broker.send("t", [record(2)], headers=[("traceparent", b"\xff no parent")])
    broker.send("t", [record(3)], headers=[("traceparent", PARENT.replace("c-b", "c-c").encode())])
    task.step(task.due(broker.ends("t")), lambda report: None)
    traces.close()
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in receiver.named("batch c").links] == [
        ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    ]


def test_a_batch_that_fails_says_why_without_secrets(receiver: Receiver, one: Memory) -> None:
    broker, catalog = one
    traces = opened(receiver)
    task = Started(traces, Driver(broker, catalog, {}))
    broker.send("t", [json.dumps({"id": "swordfish"}).encode()])
    with pytest.raises(BadRecord):
        task.step(task.due(broker.ends("t")), lambda report: None)
    traces.close()
    batch = receiver.named("batch c")
    assert batch.status.code == batch.status.STATUS_CODE_ERROR
    assert "[hidden]" in batch.status.message and "swordfish" not in batch.status.message
    assert attributes(batch)["error.type"] == "BadRecord" and not batch.events


def test_what_is_done_outside_of_a_batch_has_no_trace(receiver: Receiver, one: Memory) -> None:
    broker, catalog = one
    traces = opened(receiver)
    jobs = Started(traces, Driver(broker, catalog, {})).jobs
    assert jobs.run([lambda: 7], "a call") == [7] and jobs.parallelism == 1
    traces.close()
    assert receiver.spans == []


def test_the_standard_variables_count(receiver: Receiver, one: Memory) -> None:
    broker, catalog = one
    more = {"OTEL_RESOURCE_ATTRIBUTES": "service.name=mine,zone=b", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=4711"}
    traces = opened(receiver, **more)
    task = Started(traces, Driver(broker, catalog, {}))
    broker.send("t", [record(1)])
    task.step(task.due(broker.ends("t")), lambda report: None)
    traces.close()
    assert receiver.resources[0].items() >= {"service.name": "mine", "zone": "b"}.items()
    assert receiver.headers[0]["api-key"] == "4711"


def test_a_batch_that_is_not_sampled_has_no_id(receiver: Receiver, one: Memory) -> None:
    broker, catalog = one
    traces = opened(receiver, OTEL_TRACES_SAMPLER="always_off")
    task = Started(traces, Driver(broker, catalog, {}))
    broker.send("t", [record(1)])
    reports: list[BatchReport] = []
    task.step(task.due(broker.ends("t")), reports.append)
    traces.close()
    assert (reports[0].stored, reports[0].trace_id, receiver.spans) == (1, "", [])


def test_a_receiver_that_is_away_keeps_no_batch(
    receiver: Receiver, one: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    broker, catalog = one
    traces = opened(receiver, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1")
    driver = Driver(broker, catalog, {})
    task = Started(traces, driver)
    broker.send("t", [record(1)])
    with caplog.at_level(logging.CRITICAL, "opentelemetry"):
        task.step(Due(broker.ends("t")), lambda report: None)
        traces.close()
    assert driver.column(TABLE) == [1]


def answer() -> int:
    return 42


def test_tasks_go_to_other_machines() -> None:
    timed = traces_module._Timed(answer)  # noqa: SLF001
    assert cloudpickle.loads(cloudpickle.dumps(timed)) == timed  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_SERVICE_NAME": "mine"},
    ],
)
def test_nothing_is_traced_unless_that_is_asked_for(env: dict[str, str]) -> None:
    assert traces_of(env, "w", str) is None


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER is zipkin; traces are sent by otlp only"),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL is grpc; traces are sent by http/protobuf",
        ),
    ],
)
def test_what_there_is_not_is_refused(env: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        traces_of({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", **env}, "w", str)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError, match=r"`pip install 'frazil\[otel\]'"):
        traces_of({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"}, "w", str)
