from __future__ import annotations

import uuid

import pytest

from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import ConfigError
from frazil.stack.local import LocalStack
from frazil.worker.storage.topics import StorageTopic, ensure_storage_topic

pytestmark = pytest.mark.stack


@pytest.fixture
def name() -> str:
    return f"storage-{uuid.uuid4().hex[:8]}"


def test_a_missing_topic_is_made_compacted(stack: LocalStack, name: str) -> None:
    bootstrap = stack.settings.bootstrap_servers
    topic = StorageTopic("status.storage.topic", name, partitions=5, replication=1)
    assert ensure_storage_topic(bootstrap, topic) == 5
    assert kafka_topics.topic_settings(bootstrap, name)["cleanup.policy"] == "compact"
    assert ensure_storage_topic(bootstrap, StorageTopic("status.storage.topic", name, partitions=7)) == 5


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_another_cleanup_policy_is_refused(stack: LocalStack, name: str, policy: str) -> None:
    bootstrap = stack.settings.bootstrap_servers
    kafka_topics.ensure_topics(bootstrap, {name: (1, {"cleanup.policy": policy})})
    with pytest.raises(ConfigError, match=rf"{name} \(config.storage.topic\) has cleanup.policy={policy}, so Kafka"):
        ensure_storage_topic(bootstrap, StorageTopic("config.storage.topic", name, 1, single=True))


def test_configurations_need_one_partition(stack: LocalStack, name: str) -> None:
    bootstrap = stack.settings.bootstrap_servers
    kafka_topics.ensure_topics(bootstrap, {name: (2, {"cleanup.policy": "compact"})})
    with pytest.raises(ConfigError, match="has 2 partitions, and configurations need one order"):
        ensure_storage_topic(bootstrap, StorageTopic("config.storage.topic", name, 1, single=True))


def test_too_many_copies_name_the_key(stack: LocalStack, name: str) -> None:
    topic = StorageTopic("config.storage.topic", name, 1, 3, single=True)
    with pytest.raises(ConfigError, match=r"Set config.storage.replication.factor, which is 3, to the number of"):
        ensure_storage_topic(stack.settings.bootstrap_servers, topic)
    assert name not in kafka_topics.topics(stack.settings.bootstrap_servers)
