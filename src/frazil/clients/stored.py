"""Stored records of topics, read without a consumer group: nothing is committed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from frazil.clients.kafka import client_config, end_offsets
from frazil.errors import ServiceUnavailable

_STALLED_S = 20.0
_CHUNK = 500


def stored_records(bootstrap: str, starts: Mapping[tuple[str, int], int]) -> Iterator[Message]:
    """The records of each partition from an offset up to the end that it has now, those of one partition in order.

    Records of transactions that are open or were aborted are left out. Raises NotFound for a topic that does not
    exist, ServiceUnavailable when the broker does not answer or sends nothing for 20 s.
    """
    end = end_offsets(bootstrap, sorted({topic for topic, _ in starts}))
    waiting = {key for key, start in starts.items() if start < end[key]}
    if not waiting:
        return
    consumer = Consumer(
        {
            **client_config(bootstrap, "consumer"),
            "group.id": "frazil-sample",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            # The last entry of a partition may be the mark of a transaction, which is no record.
            "enable.partition.eof": True,
        }
    )
    heard = time.monotonic()
    try:
        consumer.assign([TopicPartition(*key, starts[key]) for key in sorted(waiting)])
        while waiting:
            for message in consumer.consume(_CHUNK, timeout=0.2):
                heard = time.monotonic()
                key, offset = (message.topic() or "", message.partition() or 0), message.offset() or 0
                failure = message.error()
                if failure is not None and failure.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                    raise KafkaException(failure)
                if failure is None and offset < end[key]:
                    yield message
                if failure is not None or offset >= end[key] - 1:
                    waiting.discard(key)
            if time.monotonic() - heard > _STALLED_S:
                raise ServiceUnavailable(
                    f"Kafka at {bootstrap} has sent nothing for {_STALLED_S:.0f} s; nothing was changed, try again"
                )
    except KafkaException as error:
        raise ServiceUnavailable(f"records cannot be read at {bootstrap}: {error.args[0].str()}") from error
    finally:
        consumer.close()
