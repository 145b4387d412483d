"""Traces of a worker with Spark."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from frazil.stack.local import LocalStack
from tests.harness import Pipe, event, own_worker
from tests.otlp import attributes, receiving
from tests.waits import eventually

pytestmark = pytest.mark.spark

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_batch_on_spark_is_traced_and_its_log_and_metrics_name_the_trace(
    stack: LocalStack, tmp_path: Path, pipe: Pipe
) -> None:
    pipe.send([event(number) for number in range(10)], headers=[("traceparent", PARENT.encode())])
    with receiving() as receiver:
        otel = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_BSP_SCHEDULE_DELAY": "200"}
        with own_worker(stack.settings, tmp_path, FRAZIL_LOG_JSON="true", **otel) as worker:
            worker.client.put_config(pipe.connector, pipe.config())
            eventually(lambda: pipe.ids() == list(range(10)))
            eventually(lambda: any(span.name.startswith("batch") for span in receiver.spans))
            address = f"http://127.0.0.1:{worker.settings.actuator_port}/actuator/prometheus"
            answer = httpx.get(address, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
            log = worker.log()
    batch = receiver.named(f"batch {pipe.connector}")
    trace = batch.trace_id.hex()
    children = {span.name for span in receiver.spans if span.parent_span_id == batch.span_id}
    assert children == {"tasks", "commit"}
    assert any(span.parent_span_id == receiver.named("tasks").span_id for span in receiver.spans)
    assert attributes(batch)["frazil.stored"] == 10
    assert [link.span_id.hex() for link in batch.links] == ["b7ad6b7169203331"]
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert [line["labels"]["connector"] for line in lines if line.get("trace.id") == trace] == [pipe.connector]
    exemplars = {
        sample.exemplar.labels["trace_id"]
        for family in text_string_to_metric_families(answer.text)  # type: ignore[no-untyped-call]
        for sample in family.samples
        if family.name == "frazil_batch_duration_seconds" and sample.exemplar
    }
    assert exemplars == {trace}
    [stored] = receiver.metrics["frazil_records_stored"].sum.data_points
    assert (attributes(stored), stored.as_double) == ({"connector": pipe.connector}, 10)
