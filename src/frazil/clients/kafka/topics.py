"""Topics of a Kafka cluster: their names, ids, partitions and settings."""

import base64
import struct
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, TopicDescription  # type: ignore[attr-defined]
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from frazil.clients.kafka.client import TIMEOUT_S, admin, result, translated, until_settled
from frazil.errors import NotFound


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
    client = admin(bootstrap)
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    future = client.describe_configs([resource], request_timeout=TIMEOUT_S)[resource]
    return {key: str(entry.value) for key, entry in result(client, future, bootstrap, f"topic {name}").items()}


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


@retry(retry=retry_if_exception_type(NotFound), stop=stop_after_delay(TIMEOUT_S), wait=wait_fixed(0.05), reraise=True)
def _await_visible(client: AdminClient, bootstrap: str, topics: Collection[str]) -> None:
    """The controller has the topics before the broker has learnt of them."""
    descriptions(client, bootstrap, topics)


def descriptions(client: AdminClient, bootstrap: str, topics: Collection[str]) -> dict[str, TopicDescription]:
    """Descriptions of topics by the cluster. Raises NotFound or ServiceUnavailable."""
    if not topics:
        return {}
    futures = client.describe_topics(TopicCollection(list(topics)), request_timeout=TIMEOUT_S)
    return {name: result(client, future, bootstrap, f"topic {name}") for name, future in futures.items()}
