"""Positions that come back, and those that do not, in front of a worker that is a record of calls."""

from __future__ import annotations

from typing import Any, cast

from frazil.clients.connect import ConnectClient
from frazil.connectors.backup import Backup, Saved, restore
from frazil.errors import NotFound

OFFSETS = [{"partition": {"server": "db"}, "offset": {"lsn": 5}}]
SOURCE = {"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "name": "source"}


class Worker:
    """Keeps what it is told; `known` are offsets that its Kafka still has."""

    def __init__(self, cluster: str, known: list[dict[str, Any]]) -> None:
        self.cluster, self.known, self.calls = cluster, known, []  # type: ignore[var-annotated]

    def root(self) -> dict[str, str]:
        return {"kafka_cluster_id": self.cluster}

    def config(self, name: str) -> dict[str, str]:
        raise NotFound(name)

    def offsets(self, name: str) -> list[dict[str, Any]]:
        return self.known

    def __getattr__(self, call: str) -> Any:
        return lambda *arguments: self.calls.append((call, *arguments))


def restored(worker: Worker, config: dict[str, str], state: str = "RUNNING") -> str:
    saved = Saved(name="c", config=config, state=state, offsets=OFFSETS)
    backup = Backup(format=1, version="0", taken="", kafka_cluster_id="here", connectors=[saved])
    [(_, told, done)] = restore(cast("ConnectClient", worker), backup, dry_run=False)
    assert done
    return told


def test_a_source_goes_on_where_it_was() -> None:
    worker = Worker("here", [])
    assert restored(worker, SOURCE) == "created, RUNNING: with its position"
    assert worker.calls == [("create", "c", SOURCE, "STOPPED"), ("set_offsets", "c", OFFSETS), ("resume", "c")]


def test_a_position_that_kafka_still_has_is_newer() -> None:
    worker = Worker("here", [{"partition": {"server": "db"}, "offset": {"lsn": 9}}])
    restored(worker, SOURCE, "PAUSED")
    assert worker.calls == [("create", "c", SOURCE, "STOPPED"), ("pause", "c")]


def test_offsets_of_another_cluster_mean_nothing() -> None:
    worker = Worker("elsewhere", [])
    assert restored(worker, SOURCE) == "created, STOPPED: without its position, which is of another Kafka cluster"
    assert worker.calls == [("create", "c", SOURCE, "STOPPED")]


def test_sinks_find_their_position_in_their_store() -> None:
    worker = Worker("elsewhere", [])
    config = {"connector.class": "org.apache.iceberg.connect.IcebergSinkConnector", "name": "c"}
    assert restored(worker, config) == "created, RUNNING: its store holds its position"
    assert worker.calls == [("create", "c", config, "STOPPED"), ("resume", "c")]
