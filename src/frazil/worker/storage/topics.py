"""The storage topics of a group of workers: made with the settings that they need, or checked for them."""

from dataclasses import dataclass

from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import ConfigError, TerminalError

_POLICY = "cleanup.policy"
_COMPACT = "compact"


@dataclass(frozen=True)
class StorageTopic:
    """A topic and how it is made; `key` is the worker's key that names it. -1 means the broker's default.

    `single` says that it may have one partition only: its records are in one order for all workers.
    """

    key: str
    name: str
    partitions: int = -1
    replication: int = -1
    single: bool = False

    @property
    def replication_key(self) -> str:
        """The worker's key for the replication of this topic."""
        return self.key.removesuffix("topic") + "replication.factor"


def ensure_storage_topic(bootstrap: str, topic: StorageTopic) -> int:
    """Create the topic when it is missing; the number of its partitions.

    Raises ConfigError when the topic exists and is not compacted, or has several partitions where one is needed, and
    when the cluster refuses to create it: old records would be removed, connectors with them.
    """
    try:
        kafka_topics.ensure_topics(
            bootstrap, {topic.name: (topic.partitions, {_POLICY: _COMPACT})}, replication=topic.replication
        )
    except TerminalError as error:
        if "INVALID_REPLICATION_FACTOR" not in str(error):
            raise
        raise ConfigError(
            f"{str(error).rstrip('.')}. The topic was not created and the worker does not start. Set "
            f"{topic.replication_key}, which is "
            f"{topic.replication}, to the number of brokers at most, or to -1 for the default of the broker."
        ) from error
    policy = kafka_topics.topic_settings(bootstrap, topic.name).get(_POLICY, "")
    if policy.replace(" ", "") != _COMPACT:
        raise ConfigError(
            f"topic {topic.name} ({topic.key}) has {_POLICY}={policy}, so Kafka would remove records that the workers "
            f"need. Nothing was changed and the worker does not start. Set {_POLICY}={_COMPACT} on the topic, or name "
            f"another topic in {topic.key}."
        )
    partitions = kafka_topics.partition_counts(bootstrap, [topic.name])[topic.name]
    if topic.single and partitions != 1:
        raise ConfigError(
            f"topic {topic.name} ({topic.key}) has {partitions} partitions, and configurations need one order. Nothing "
            f"was changed and the worker does not start. Name a topic with one partition in {topic.key}, or one that "
            "does not exist yet."
        )
    return partitions
