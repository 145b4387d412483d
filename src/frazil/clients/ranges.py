"""Records of ranges of offsets, read without a consumer group: nothing is committed."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from frazil.clients.kafka import client_config, end_offsets
from frazil.errors import ServiceUnavailable

_STALLED_S = 20.0
_CHUNK = 2000
ROWS = pa.schema(
    {
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("ms", tz="UTC"),
        "key": pa.binary(),
        "headers": pa.string(),
    }
)
"""The columns that Spark gives the tasks."""


def stored_records(bootstrap: str, starts: Mapping[tuple[str, int], int]) -> Iterator[Message]:
    """The records of each partition from an offset up to the end that it has now, those of one partition in order.

    Records of transactions that are open or were aborted are left out. Raises NotFound for a topic that does not
    exist, and as `read_ranges` does.
    """
    end = end_offsets(bootstrap, sorted({topic for topic, _ in starts}))
    for records in read_ranges(bootstrap, starts, end, committed=True):
        yield from records


def read_ranges(
    bootstrap: str,
    begin: Mapping[tuple[str, int], int],
    end: Mapping[tuple[str, int], int],
    *,
    committed: bool = False,
) -> Iterator[list[Message]]:
    """The records from `begin` to below `end` of each partition, those of one partition in order.

    With `committed` those of transactions that are open or were aborted are left out. Raises ServiceUnavailable when
    the broker does not answer or sends nothing for 20 s.
    """
    starts = {key: start for key, start in begin.items() if start < end[key]}
    if not starts:
        return
    consumer = Consumer(
        {
            **client_config(bootstrap, "consumer"),
            "group.id": "frazil-ranges",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            # The last entry of a partition may be the mark of a transaction, which is no record.
            "enable.partition.eof": True,
        }
    )
    waiting = set(starts)
    heard = time.monotonic()
    try:
        consumer.assign([TopicPartition(*key, start) for key, start in sorted(starts.items())])
        while waiting:
            found: list[Message] = []
            for message in consumer.consume(_CHUNK, timeout=0.2):
                heard = time.monotonic()
                key, offset = (message.topic() or "", message.partition() or 0), message.offset() or 0
                failure = message.error()
                if failure is not None and failure.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                    raise KafkaException(failure)
                if failure is None and offset < end[key]:
                    found.append(message)
                if failure is not None or offset >= end[key] - 1:
                    waiting.discard(key)
            if found:
                yield found
                heard = time.monotonic()
            if time.monotonic() - heard > _STALLED_S:
                raise ServiceUnavailable(
                    f"Kafka at {bootstrap} has sent nothing for {_STALLED_S:.0f} s; nothing was changed, try again"
                )
    except KafkaException as error:
        raise ServiceUnavailable(f"records cannot be read at {bootstrap}: {error.args[0].str()}") from error
    finally:
        consumer.close()


def as_rows(records: Sequence[Message]) -> pa.RecordBatch:
    """Records in the columns that Spark gives the tasks."""
    columns: dict[str, list[Any]] = {
        "value": [record.value() for record in records],
        "topic": [record.topic() for record in records],
        "partition": [record.partition() for record in records],
        "offset": [record.offset() for record in records],
        "timestamp": [record.timestamp()[1] for record in records],
        "key": [record.key() for record in records],
        "headers": [_headers(record) for record in records],
    }
    return pa.RecordBatch.from_pydict(columns, schema=ROWS)


def _headers(record: Message) -> str | None:
    """As Spark's `to_json` writes an array of headers: values in Base64, none for null."""
    headers: Any = record.headers()
    if not headers:
        return None
    return json.dumps(
        [
            {"key": name} | ({} if value is None else {"value": base64.b64encode(value).decode()})
            for name, value in headers
        ]
    )
