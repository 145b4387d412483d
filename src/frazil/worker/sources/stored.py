"""Connectors that are stored in the configuration topic of a Kafka Connect runtime, read without one."""

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import read_ranges

_KEY = b"connector-"


def stored_connectors(bootstrap: str, topic: str) -> set[str]:
    """Names of the connectors whose newest record is no deletion; none without the topic.

    Raises ServiceUnavailable, or ConfigError when the worker may not read it.
    """
    if topic not in kafka_topics.topics(bootstrap):
        return set()
    begin, end = (read(bootstrap, [topic]) for read in (kafka_offsets.begin_offsets, kafka_offsets.end_offsets))
    found: set[str] = set()
    for messages in read_ranges(bootstrap, begin, end):
        for message in messages:
            key = message.key()
            if isinstance(key, bytes) and key.startswith(_KEY):
                name = key.removeprefix(_KEY).decode(errors="replace")
                (found.discard if message.value() is None else found.add)(name)
    return found
