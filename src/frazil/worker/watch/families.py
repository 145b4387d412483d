"""Metrics of committed batches: what each is called, and how it follows from the report of a batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from frazil.pipeline.report import BatchReport

Kind = Literal["counter", "gauge", "sum", "histogram"]
"""`sum` is a counter whose name of old does not end as those of counters do: it is exposed as a gauge."""

_BUCKETS_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_MILLISECONDS = (5, 10, 20, 40, 60, 80, 100, 120, 150, 200, 250, 350, 500, 750)
_OBJECT_BUCKETS_S = (*(ms / 1000 for ms in _MILLISECONDS), 1, 1.5, 2.5, 5, 10, 30, 60)


@dataclass(frozen=True)
class Family:
    """A metric, labelled by connector and, with `label`, by one thing more.

    `values` are those of a batch by that label, whose value is `fixed` where they have none. Counters take them in,
    gauges are set to them, histograms observe each.
    """

    name: str
    kind: Kind
    text: str
    values: Callable[[BatchReport], Mapping[str, float] | Sequence[float] | float]
    label: str = ""
    fixed: str = ""
    buckets: Sequence[float] = _BUCKETS_S


def _task(bean: str, attribute: str, kind: Kind, text: str, values: Callable[[BatchReport], float]) -> Family:
    """An attribute of one of Kafka Connect's beans, named as the JMX exporter names it; all tasks are one here."""
    name = f"kafka_connect_{bean}_{attribute}".replace("-", "_")
    return Family(name, kind, text, values, "task", "0")


def _of_state(report: BatchReport, name: str) -> Sequence[float]:
    return () if report.state is None else (getattr(report.state, name),)


OF_BATCHES: tuple[Family, ...] = (
    Family("kafka_connector_records_processed", "counter", "Records read", lambda r: r.read),
    Family("kafka_connector_records_failed", "counter", "Records that could not be stored", lambda r: r.dead_letters),
    Family("kafka_connector_dlq_messages", "counter", "Dead letters", lambda r: r.dead_letters),
    Family(
        "kafka_connector_schema_validation_failures",
        "counter",
        "Records that are not valid by their JSON Schema",
        lambda r: r.invalid,
    ),
    Family(
        "kafka_connector_schema_validation_duration_seconds",
        "histogram",
        "Checking the records of a batch by their JSON Schema, in its slowest task",
        lambda r: () if r.validation_s is None else (r.validation_s,),
    ),
    Family("kafka_connector_s3_writes", "counter", "Data files written", lambda r: r.files),
    Family(
        "kafka_connector_s3_write_duration_seconds",
        "histogram",
        "Storing the files of a batch, in its slowest task",
        lambda r: (r.write_s,),
    ),
    Family(
        "kafka_connector_topic_records_processed", "counter", "Records stored", lambda r: r.stored_by_topic, "topic"
    ),
    Family(
        "kafka_connector_topic_records_failed",
        "counter",
        "Records that became dead letters",
        lambda r: r.dead_by_topic,
        "topic",
    ),
    Family("frazil_records_stored", "counter", "Records stored", lambda r: r.stored),
    Family(
        "frazil_records_skipped",
        "counter",
        "Records that give no row: tombstones, those that a transform dropped, and those that no table is for",
        lambda r: {str(reason): count for reason, count in r.skipped_by_reason.items()},
        "reason",
    ),
    Family("frazil_bytes_written", "counter", "Bytes of data files", lambda r: r.bytes_written),
    Family(
        "frazil_object_write_duration_seconds",
        "histogram",
        "Storing one object of an object sink, with what is tried again",
        lambda r: r.object_s,
        buckets=_OBJECT_BUCKETS_S,
    ),
    Family("frazil_commits", "counter", "Committed batches", lambda r: 1),
    Family("frazil_commit_duration_seconds", "histogram", "Committing the files of a batch", lambda r: (r.commit_s,)),
    Family(
        "frazil_batch_duration_seconds",
        "histogram",
        "A batch, from its start to its commit",
        lambda r: (r.duration_s,),
    ),
    Family(
        "frazil_newest_record_timestamp_seconds",
        "gauge",
        "Kafka's time of the newest record that is in the table, of an object sink that of its topic",
        lambda r: {table: ms / 1000 for table, ms in r.newest.items()},
        "table",
    ),
    Family(
        "frazil_table_schema_id",
        "gauge",
        "Number of the schema that the Iceberg table has, another one with each change of its columns",
        lambda r: r.schema_ids,
        "table",
    ),
    Family("frazil_state_rows", "gauge", "Rows of the state of a statement", lambda r: _of_state(r, "rows")),
    Family("frazil_state_bytes", "gauge", "Memory of the state of a statement", lambda r: _of_state(r, "size")),
    Family(
        "frazil_state_watermark_timestamp_seconds",
        "gauge",
        "Watermark of a statement: records before it are late",
        lambda r: [ms / 1000 for ms in _of_state(r, "watermark_ms")],
    ),
    Family(
        "frazil_state_late_rows",
        "gauge",
        "Rows of the newest batch that were behind the watermark, which Spark counts in groups of its partitions",
        lambda r: _of_state(r, "late"),
    ),
    _task("sink-task-metrics", "sink-record-read-total", "counter", "Records read", lambda r: r.read),
    _task("sink-task-metrics", "sink-record-send-total", "counter", "Records stored", lambda r: r.stored),
    _task("sink-task-metrics", "offset-commit-completion-total", "counter", "Committed batches", lambda r: 1),
    _task("sink-task-metrics", "offset-commit-seq-no", "sum", "Committed batches", lambda r: 1),
    _task(
        "sink-task-metrics",
        "put-batch-avg-time-ms",
        "gauge",
        "Storing the files of the newest batch",
        lambda r: 1000 * r.write_s,
    ),
    _task("connector-task-metrics", "batch-size-avg", "gauge", "Records of the newest batch", lambda r: r.read),
    _task(
        "connector-task-metrics",
        "offset-commit-avg-time-ms",
        "gauge",
        "Committing the newest batch",
        lambda r: 1000 * r.commit_s,
    ),
    _task(
        "task-error-metrics",
        "total-record-failures",
        "sum",
        "Records that could not be stored",
        lambda r: r.dead_letters,
    ),
    _task(
        "task-error-metrics",
        "total-record-errors",
        "sum",
        "Records that could not be stored",
        lambda r: r.dead_letters,
    ),
    _task("task-error-metrics", "total-records-skipped", "sum", "Dead letters", lambda r: r.dead_letters),
    _task("task-error-metrics", "deadletterqueue-produce-requests", "sum", "Dead letters", lambda r: r.dead_letters),
)
