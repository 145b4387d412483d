"""Records of ranges of offsets, read without a consumer group: nothing is committed."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from frazil.clients.kafka import client_config
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


def read_ranges(
    bootstrap: str, begin: Mapping[tuple[str, int], int], end: Mapping[tuple[str, int], int]
) -> Iterator[list[Message]]:
    """The records from `begin` to below `end` of each partition, those of one partition in order.

    Raises ServiceUnavailable when the broker does not answer.
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
        }
    )
    waiting = set(starts)
    heard = time.monotonic()
    try:
        consumer.assign([TopicPartition(*key, start) for key, start in starts.items()])
        while waiting:
            found: list[Message] = []
            for message in consumer.consume(_CHUNK, timeout=0.2):
                if message.error() is not None:
                    raise KafkaException(message.error())
                if (message.offset() or 0) < end[message.topic() or "", message.partition() or 0]:
                    found.append(message)
                heard = time.monotonic()
            if found:
                yield found
            positions = consumer.position([TopicPartition(*key) for key in waiting])
            waiting -= {(p.topic, p.partition) for p in positions if p.offset >= end[p.topic, p.partition]}
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
