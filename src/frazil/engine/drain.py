"""Drain of a connector: a run up to the ends that its topics have now."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.connector import Connector
from frazil.connectors.sink import SinkContext
from frazil.connectors.source import reads_committed
from frazil.pipeline.executor import Executor
from frazil.pipeline.report import BatchReport


@dataclass(frozen=True)
class Drained:
    """Totals of the batches: `read == stored + dead_letters + skipped`. `waiting` records are for the next run: those
    of objects that are not complete."""

    batches: int = 0
    read: int = 0
    stored: int = 0
    dead_letters: int = 0
    skipped: int = 0
    files: int = 0
    waiting: int = 0


def drain(
    connector: Connector, executor: Executor, observe: Callable[[BatchReport], None] = lambda report: None
) -> Drained:
    """Store what the topics have now, batch by batch; records that come meanwhile are left.

    Nothing else may run the connector. Raises as `Sink.start` and `SinkTask.step` do; what was told to `observe` is
    stored then, and another call goes on behind it.
    """
    reports: list[BatchReport] = []

    def committed(report: BatchReport) -> None:
        reports.append(report)
        observe(report)

    with connector.hiding() as sink:
        topics = connector.topics()
        task = sink.start(SinkContext(executor, at_once=True), topics)
        ends = kafka_offsets.end_offsets(connector.cluster, topics, committed=reads_committed(sink.config))
        while True:
            before = task.position
            due = task.due(ends, round(time.time() * 1000))
            if not due.ends:
                break
            task.step(due, committed)
            if task.position == before and not due.more:
                break
    return Drained(
        len(reports),
        sum(one.read for one in reports),
        sum(one.stored for one in reports),
        sum(one.dead_letters for one in reports),
        sum(one.skipped for one in reports),
        sum(one.files for one in reports),
        sum(end - task.position.get(key, 0) for key, end in ends.items()),
    )
