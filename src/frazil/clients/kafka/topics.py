"""Topics of a Kafka cluster: their names, ids, partitions and settings."""

import base64
import struct
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ConfigSource,
    NewTopic,
    TopicDescription,
)
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from frazil.clients.kafka.client import TIMEOUT_S, admin, result, translated, until_settled
from frazil.errors import NotFound
from frazil.text.near import did_you_mean


@until_settled
def topics(bootstrap: str) -> list[str]:
    """Names of all topics. Raises ServiceUnavailable when no broker answers."""
    client = admin(bootstrap)
    try:
        return sorted(client.list_topics(timeout=TIMEOUT_S).topics)
    except KafkaException as error:
        client.poll(0)
        raise translated(error, bootstrap, "topics") from error


@until_settled
def ensure_topics(
    bootstrap: str, topics: Mapping[str, tuple[int, Mapping[str, str]]], replication: int | None = None
) -> dict[str, bool]:
    """Create topics, given as name → (partitions, configuration); True for each that did not exist before.

    Returns once the broker knows the new topics. An existing topic is left as it is. Without `replication` the
    broker's default counts. Raises ServiceUnavailable or TerminalError; topics created before the failing one stay,
    and the same call may be repeated.
    """
    if not topics:
        return {}
    new = [
        NewTopic(name, partitions, replication_factor=-1 if replication is None else replication, config=dict(config))
        for name, (partitions, config) in topics.items()
    ]
    created: dict[str, bool] = {}
    client = admin(bootstrap)
    futures = client.create_topics(new, operation_timeout=TIMEOUT_S, request_timeout=TIMEOUT_S)
    for name, future in futures.items():
        try:
            future.result(TIMEOUT_S + 1)
            created[name] = True
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise translated(error, bootstrap, f"topic {name}") from error
            created[name] = False
    _await_visible(client, bootstrap, [name for name, is_new in created.items() if is_new])
    return created


@until_settled
def partition_counts(bootstrap: str, names: Iterable[str]) -> dict[str, int]:
    """Number of partitions of each topic. Raises NotFound or ServiceUnavailable."""
    found = descriptions(admin(bootstrap), bootstrap, list(names))
    return {name: len(description.partitions) for name, description in found.items()}


@until_settled
def topic_settings(bootstrap: str, name: str) -> dict[str, str]:
    """Settings of a topic, those of the broker included. Raises NotFound or ServiceUnavailable."""
    return {key: str(entry.value) for key, entry in _entries(bootstrap, name).items()}


@until_settled
def topic_ids(bootstrap: str, names: Iterable[str]) -> dict[str, str]:
    """Topic id of each topic, as Kafka's tools print it; a topic that is created again gets another one.

    Raises NotFound when a topic does not exist, ServiceUnavailable when no broker answers.
    """
    ids: dict[str, str] = {}
    for name, description in descriptions(admin(bootstrap), bootstrap, list(names)).items():
        uuid: Any = description.topic_id  # its published type lacks the accessors
        bits = (uuid.get_most_significant_bits(), uuid.get_least_significant_bits())
        ids[name] = base64.urlsafe_b64encode(struct.pack(">qq", *bits)).decode().rstrip("=")
    return ids


@until_settled
def own_settings(bootstrap: str, name: str) -> dict[str, str]:
    """Settings that a topic has of its own, not from its broker. Raises NotFound or ServiceUnavailable."""
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {key: str(entry.value) for key, entry in sorted(_entries(bootstrap, name).items()) if entry.source == own}


def _entries(bootstrap: str, name: str) -> Mapping[str, Any]:
    client = admin(bootstrap)
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    future = client.describe_configs([resource], request_timeout=TIMEOUT_S)[resource]
    found: Mapping[str, Any] = result(client, future, bootstrap, f"topic {name}")
    return found


@until_settled
def delete_topic(bootstrap: str, name: str) -> None:
    """Delete a topic with its records; returns once the broker does not know it any more.

    Raises NotFound, ServiceUnavailable, or TerminalError when the cluster refuses.
    """
    client = admin(bootstrap)
    futures = client.delete_topics([name], operation_timeout=TIMEOUT_S, request_timeout=TIMEOUT_S)
    result(client, futures[name], bootstrap, f"topic {name}")


@dataclass(frozen=True)
class Partition:
    """A partition of a topic; its brokers are ids, and the leader is None while there is none."""

    number: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@until_settled
def partitions_of(bootstrap: str, names: Collection[str]) -> dict[str, list[Partition]]:
    """Partitions of topics, in order. Raises NotFound or ServiceUnavailable."""
    return {
        name: [
            Partition(
                one.id,
                None if one.leader is None else one.leader.id,
                tuple(broker.id for broker in one.replicas),
                tuple(broker.id for broker in one.isr),
            )
            for one in sorted(described.partitions, key=lambda one: one.id)
        ]
        for name, described in descriptions(admin(bootstrap), bootstrap, names).items()
    }


@until_settled
def allowed_operations(bootstrap: str, names: Collection[str]) -> dict[str, frozenset[str]]:
    """Operations that this client may do on topics, in Kafka's words such as READ; a topic of which the cluster does
    not tell is left out. Raises NotFound or ServiceUnavailable."""
    if not names:
        return {}
    client = admin(bootstrap)
    wanted = TopicCollection(list(names))
    futures = client.describe_topics(wanted, include_authorized_operations=True, request_timeout=TIMEOUT_S)
    found = {name: result(client, future, bootstrap, f"topic {name}") for name, future in futures.items()}
    return {
        name: frozenset(operation.name for operation in one.authorized_operations)
        for name, one in found.items()
        if one.authorized_operations
    }


@retry(retry=retry_if_exception_type(NotFound), stop=stop_after_delay(TIMEOUT_S), wait=wait_fixed(0.05), reraise=True)
def _await_visible(client: AdminClient, bootstrap: str, topics: Collection[str]) -> None:
    """The controller has the topics before the broker has learnt of them."""
    _descriptions(client, bootstrap, topics)


def descriptions(client: AdminClient, bootstrap: str, topics: Collection[str]) -> dict[str, TopicDescription]:
    """Descriptions of topics by the cluster. Raises NotFound, with a hint at a name near it, or ServiceUnavailable."""
    try:
        return _descriptions(client, bootstrap, topics)
    except NotFound as error:
        hint = next(iter(missing_topics(bootstrap, topics).values()), "")
        raise NotFound(f"{str(error).rstrip('.')}{hint}" if hint else str(error)) from error


def missing_topics(bootstrap: str, names: Iterable[str]) -> dict[str, str]:
    """Find the topics that do not exist, each with a hint at one with a name near it. Raises ServiceUnavailable."""
    there = topics(bootstrap)
    return {name: did_you_mean(name, there) for name in names if name not in there}


def _descriptions(client: AdminClient, bootstrap: str, topics: Collection[str]) -> dict[str, TopicDescription]:
    if not topics:
        return {}
    futures = client.describe_topics(TopicCollection(list(topics)), request_timeout=TIMEOUT_S)
    return {name: result(client, future, bootstrap, f"topic {name}") for name, future in futures.items()}
