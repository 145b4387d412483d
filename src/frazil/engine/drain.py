"""Drain of a connector: a run up to the ends that its topics have now."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.connector import Connector
from frazil.connectors.sink import SinkContext
from frazil.pipeline.executor import Executor
from frazil.pipeline.report import BatchReport, Totals


@dataclass(frozen=True)
class Drained(Totals):
    """Sums over the batches. `waiting` records are for the next run: those of objects that are not complete."""

    waiting: int = 0


def drain(
    connector: Connector, executor: Executor, observe: Callable[[BatchReport], None] = lambda report: None
) -> Drained:
    """Store what the topics have now, batch by batch; records that come meanwhile are left.

    Nothing else may run the connector. Raises as `Sink.start` and `SinkTask.step` do; what was told to `observe` is
    stored then, and another call goes on behind it.
    """
    totals = Totals()

    def committed(report: BatchReport) -> None:
        nonlocal totals
        totals = totals.plus(report)
        observe(report)

    with connector.hiding() as sink:
        topics = connector.topics()
        with closing(sink.start(SinkContext(executor, at_once=True), topics)) as task:
            ends = kafka_offsets.end_offsets(connector.cluster, topics, committed=sink.config.reads_committed)
            while True:
                before = task.position
                due = task.find_due(ends, round(time.time() * 1000))
                if not due.ends:
                    break
                task.step(due, committed)
                if task.position == before and not due.more:
                    break
    return Drained(**vars(totals), waiting=sum(end - task.position.get(key, 0) for key, end in ends.items()))
