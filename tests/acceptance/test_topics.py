"""Topics change while a connector reads them (X20 of iceberg-sink.md)."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from frazil.clients import kafka
from tests.harness import Pipe, Worker, event, eventually, send

pytestmark = pytest.mark.spark


def test_x20_new_partitions_and_topics_are_read_from_their_beginning(worker: Worker, pipe: Pipe) -> None:
    bootstrap = pipe.settings.bootstrap_servers
    config = pipe.config() | {"topics.regex": f"{pipe.name}(_more)?"}
    del config["topics"]
    pipe.send([event(n) for n in range(10)])
    worker.client.put_config(pipe.connector, config)
    eventually(lambda: pipe.ids() == list(range(10)))

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(pipe.name, 5)])[pipe.name].result()
    more = f"{pipe.name}_more"
    kafka.ensure_topics(bootstrap, {more: (1, {})})
    eventually(lambda: kafka.end_offsets(bootstrap, [pipe.name]).get((pipe.name, 4)) == 0)
    send(bootstrap, pipe.name, [event(n) for n in range(10, 20)], partition=4)
    send(bootstrap, more, [event(n) for n in range(20, 30)])

    eventually(lambda: pipe.ids() == list(range(30)))
    worker.client.restart(pipe.connector)
    send(bootstrap, more, [event(30)])
    eventually(lambda: pipe.ids() == list(range(31)))
