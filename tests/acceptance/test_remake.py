"""A table is made anew while records come: each is in it once, from the beginning of its topic."""

from __future__ import annotations

import threading

import pytest
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from tests.harness import Pipe, Worker, event
from tests.waits import eventually

pytestmark = pytest.mark.spark


def test_records_that_come_meanwhile_are_stored_once(
    worker: Worker, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in worker.settings.env.items():
        monkeypatch.setenv(name, value)
    servers, new = pipe.settings.bootstrap_servers, f"{pipe.connector}-2"
    pipe.send([event(n) for n in range(300)])
    worker.client.put_config(pipe.connector, pipe.config())
    eventually(lambda: len(pipe.ids()) == 300)
    # a connector of the new one's name has been there before
    kafka_groups.set_group_offsets(servers, f"connect-{new}", kafka_offsets.end_offsets(servers, [pipe.name]))

    done, sent = threading.Event(), 300

    def produce() -> None:
        nonlocal sent
        while not done.wait(0.2):
            pipe.send([event(n) for n in range(sent, sent + 10)])
            sent += 10

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        key = "iceberg.tables.default-partition-by=bucket(id, 4)"
        remade = CliRunner().invoke(app, ["tables", "remake", pipe.table_name, "-s", key, "--yes"])
    finally:
        done.set()
        producer.join()
    try:
        assert remade.exit_code == 0, (remade.output, remade.exception)
        eventually(lambda: len(pipe.ids()) >= sent)
        assert pipe.ids() == list(range(sent))
        assert [field.name for field in pipe.table().spec().fields] == ["id_bucket"]
        assert worker.client.config(new)["iceberg.tables"] == pipe.table_name
        assert pipe.connector not in worker.client.connectors()
    finally:
        worker.client.delete(new)
