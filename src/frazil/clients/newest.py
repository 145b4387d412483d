"""The newest records of topics, read without a consumer group: nothing is committed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from frazil.clients.kafka import begin_offsets, end_offsets
from frazil.errors import ServiceUnavailable

_STALLED_S = 20.0
_CHUNK = 500


def newest_records(bootstrap: str, topics: Sequence[str], count: int) -> list[Message]:
    """At most `count` records, from the ends of all partitions alike, by topic, partition and offset.

    Raises NotFound for a topic that does not exist, ServiceUnavailable when the broker does not answer.
    """
    begin, end = begin_offsets(bootstrap, topics), end_offsets(bootstrap, topics)
    filled = sorted((end[key] - begin[key], key) for key in end if end[key] > begin[key])
    starts: dict[tuple[str, int], int] = {}
    left = count
    for position, (size, key) in enumerate(filled):  # what a short partition does not have, the longer ones give
        share = min(size, -(-left // (len(filled) - position)))
        if share:
            starts[key] = end[key] - share
        left -= share
    if not starts:
        return []
    found = _read(bootstrap, starts, end)
    return sorted(found, key=lambda record: (record.topic() or "", record.partition() or 0, record.offset() or 0))


def _read(bootstrap: str, starts: dict[tuple[str, int], int], end: dict[tuple[str, int], int]) -> list[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "frazil-sample",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "log_level": 0,
        }
    )
    found: list[Message] = []
    waiting = set(starts)
    heard = time.monotonic()
    try:
        consumer.assign([TopicPartition(*key, start) for key, start in starts.items()])
        while waiting:
            messages = consumer.consume(_CHUNK, timeout=0.2)
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                if (message.offset() or 0) < end[message.topic() or "", message.partition() or 0]:
                    found.append(message)
                heard = time.monotonic()
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
    return found
