"""The dead-letter topics of a connector."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.security import secured
from frazil.connectors.keys.sink_config import SinkConfig
from frazil.errors import ConfigError, TerminalError
from frazil.pipeline.letters.deadletter import DeadLetter, DeadLetterQueue
from frazil.pipeline.letters.queues import DLQ

_DEAD_LETTER_BYTES = 64 << 20


def queue_of(config: SinkConfig, bootstrap: str, connector_class: str, secret: bytes = b"") -> DeadLetterQueue | None:
    """The queue of a connector, whose topics may not exist; None when it tolerates no bad record."""
    if config.errors_tolerance == "none":
        return None
    return DeadLetterQueue(
        bootstrap, config.name, connector_class, config.dead_letter_topic, config.dead_letter_headers, secret
    )


def leaving_out(bad: Iterable[DeadLetter], connector: str) -> str:
    """Sentence on how the position goes behind bad records, of a connector that has stored all before them."""
    positions = " ".join(f"{each.topic}:{each.partition}={each.offset + 1}" for each in bad)
    return (
        f"To leave out what is named here and nothing else: `stop connector {connector}`, `offsets set {connector} "
        f"{positions}` (with --dry-run it shows what that does), `resume connector {connector}`."
    )


def secret_of(target: object) -> bytes:
    """Secret that the dead letters of a connector are sealed with, from what it writes to and its access to it.

    Every worker that runs the connector has it, and who only writes to dead-letter topics does not.
    """
    return hashlib.sha256(msgspec.json.encode(target)).digest()


def dead_letter_queue(
    config: SinkConfig, bootstrap: str, connector_class: str, topics: Sequence[str], target: object
) -> DeadLetterQueue | None:
    """The queue of a connector that runs: each of `topics` that exists has its dead-letter topic afterwards.

    `target` is what the connector writes to, with its access to it. Raises ConfigError for a replication factor that
    the cluster cannot have, and for security settings of the producer that cannot be used; ServiceUnavailable.
    """
    queue = queue_of(config, bootstrap, connector_class, secret_of(target))
    if queue is None:
        return None
    secured(bootstrap, "producer")
    settings = {"max.message.bytes": str(_DEAD_LETTER_BYTES)}
    present = set(topics).intersection(kafka_topics.topics(bootstrap))
    try:
        kafka_topics.ensure_topics(
            bootstrap,
            {queue.topic_for(topic): (1, settings) for topic in present},
            replication=config.dead_letter_replication,
        )
    except TerminalError as error:
        if "INVALID_REPLICATION_FACTOR" not in str(error):
            raise
        raise ConfigError(
            f"{str(error).rstrip('.')}. The dead-letter topic was not created and nothing was read. Correct "
            f"{DLQ}topic.replication.factor (it is {config.dead_letter_replication}), or remove it: without it "
            "the default of the broker counts."
        ) from error
    return queue
