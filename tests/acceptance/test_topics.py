"""What happens to topics while a connector reads them or stands still."""

from __future__ import annotations

import json
import time

import httpx
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.iceberg.table.commit import TOPIC_IDS
from tests.harness import Pipe, Worker, event, send
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.spark


def test_new_partitions_and_topics_are_read_from_their_beginning(worker: Worker, pipe: Pipe) -> None:
    bootstrap = pipe.settings.bootstrap_servers
    config = pipe.config() | {"topics.regex": f"{pipe.name}(_more)?"}
    del config["topics"]
    pipe.send([event(n) for n in range(10)])
    worker.client.put_config(pipe.connector, config)
    eventually(lambda: pipe.ids() == list(range(10)))

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(pipe.name, 5)])[pipe.name].result()
    more = f"{pipe.name}_more"
    kafka_topics.ensure_topics(bootstrap, {more: (1, {})})
    eventually(lambda: kafka_offsets.end_offsets(bootstrap, [pipe.name]).get((pipe.name, 4)) == 0)
    send(bootstrap, pipe.name, [event(n) for n in range(10, 20)], partition=4)
    send(bootstrap, more, [event(n) for n in range(20, 30)])

    eventually(lambda: pipe.ids() == list(range(30)))
    known = json.loads(pipe.summary()[TOPIC_IDS])
    assert known == kafka_topics.topic_ids(bootstrap, [pipe.name, more]), "also of the topic that came later"
    worker.client.restart(pipe.connector)
    send(bootstrap, more, [event(30)])
    eventually(lambda: pipe.ids() == list(range(31)))


def test_retention_passed_the_position_of_a_connector_that_stood_still(worker: Worker, pipe: Pipe) -> None:
    url = f"{worker.settings.connect_url}/connectors/{pipe.connector}"
    pipe.send([event(n) for n in range(5)], partition=0)
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: pipe.lag() == 0)
    httpx.put(f"{url}/stop", timeout=PATIENCE_S).raise_for_status()
    pipe.send([event(n) for n in range(5, 15)], partition=0)
    admin = kafka_client.admin(pipe.settings.bootstrap_servers)
    for future in admin.delete_records([TopicPartition(pipe.name, 0, 9)]).values():
        future.result(PATIENCE_S)

    httpx.put(f"{url}/resume", timeout=PATIENCE_S).raise_for_status()
    eventually(lambda: worker.state(pipe.connector) == "FAILED")

    trace = worker.trace(pipe.connector)
    assert trace.startswith(
        f"frazil.errors.PositionLost: table {pipe.table_name} continues at offset 5 of {pipe.name}-0, but the topic "
        "has 9 to 15: 4 records were deleted by retention. Nothing was read."
    )
    assert pipe.ids() == list(range(5))
    httpx.put(f"{url}/stop", timeout=PATIENCE_S).raise_for_status()
    httpx.delete(f"{url}/offsets", timeout=PATIENCE_S).raise_for_status()
    httpx.put(f"{url}/resume", timeout=PATIENCE_S).raise_for_status()
    eventually(lambda: pipe.ids() == [*range(5), *range(9, 15)])


def test_an_idle_topic_makes_no_snapshots_and_its_next_record_makes_one(worker: Worker, pipe: Pipe) -> None:
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: worker.state(pipe.connector) == "RUNNING")
    pipe.send([event(0)], partition=0)
    eventually(lambda: pipe.ids() == [0])
    time.sleep(5)  # of commit intervals of a second
    assert pipe.snapshots() == 1
    pipe.send([event(1)], partition=1)
    eventually(lambda: pipe.ids() == [0, 1])
    assert pipe.snapshots() == 2
