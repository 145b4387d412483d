"""The catalog fails, is silent, or loses its answers to commits: each record is stored once, in one snapshot."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler

import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from tests.acceptance.test_lifecycle import steady
from tests.connectors.iceberg.proxy import CatalogProxy, Fault
from tests.harness import Pipe, Worker, event
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.spark

ROWS = Schema(
    NestedField(1, "id", LongType(), required=True), NestedField(2, "value", StringType()), identifier_field_ids=[1]
)
UPSERT: dict[str, str] = {"iceberg.tables.upsert-mode-enabled": "true"}
BRANCH = {"iceberg.tables.default-commit-branch": "audit"}
CREATED = {"iceberg.tables.auto-create-enabled": "true"}
LOST: Sequence[Fault] = ("500 after", "503 after", "504 after", "close after")
REFUSED: Sequence[Fault] = ("500 before", "503 before", "409 before", "close before")


def upsert(number: int) -> bytes:
    return json.dumps({"id": number, "value": f"{number}"}).encode()


def connect(worker: Worker, pipe: Pipe, proxy: CatalogProxy, keys: dict[str, str]) -> None:
    worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.catalog.uri": proxy.uri} | keys)


def stored_in_one_snapshot(pipe: Pipe, numbers: list[int], branch: str = "main") -> None:
    table = pipe.table()
    head = table.metadata.snapshot_by_name(branch)
    assert head is not None
    assert sorted(table.scan(snapshot_id=head.snapshot_id).to_arrow()["id"].to_pylist()) == numbers
    summaries = [s.summary.additional_properties for s in table.metadata.snapshots if s.summary is not None]
    assert len([each for each in summaries if each.get("frazil.connector") == pipe.connector]) == 1


def test_answers_that_are_lost_make_one_snapshot(worker: Worker, request: pytest.FixtureRequest) -> None:
    """The first commit of each connector is applied, and nobody tells it so."""
    cases: dict[str, tuple[dict[str, str], Sequence[Fault], str]] = {
        "server_error": ({}, ["500 after"], "main"),
        "connection": ({}, ["503 before", "409 before", "close after"], "main"),
        "gateway": (UPSERT, ["504 after"], "main"),
        "branch": (BRANCH, ["close after", "500 after", "500 after"], "audit"),
    }
    with ExitStack() as ends:
        pipes = {name: Pipe(worker.settings, f"x09_{name}", ROWS, PartitionSpec()).create(1) for name in cases}
        for name, (keys, faults, _) in cases.items():
            proxy = ends.enter_context(CatalogProxy(worker.settings.catalog_uri).running())
            proxy.faults = list(faults)
            pipes[name].send([upsert(n) for n in range(20)])
            connect(worker, pipes[name], proxy, keys)
            ends.callback(worker.client.delete, pipes[name].connector)
        for name, (_, _, branch) in cases.items():
            eventually(lambda name=name: pipes[name].lag() == 0)  # type: ignore[misc]
            stored_in_one_snapshot(pipes[name], list(range(20)), branch)
            assert f"connector {pipes[name].connector} failed" not in worker.log()


@pytest.mark.faults
@pytest.mark.timeout(400)
@pytest.mark.parametrize("fault", ["hold after", "late"])
def test_a_catalog_that_takes_a_commit_and_is_silent(worker: Worker, pipe: Pipe, fault: Fault) -> None:
    """Of `late` the catalog gets the commit only when the worker has made it a second time."""
    with CatalogProxy(worker.settings.catalog_uri).running() as proxy:
        proxy.faults = [fault]
        pipe.send([event(n) for n in range(20)])
        connect(worker, pipe, proxy, {})
        assert proxy.held.wait(PATIENCE_S)
        eventually(lambda: pipe.lag() == 0)
        proxy.let_go()
        pipe.send([event(n) for n in range(20, 30)])
        eventually(lambda: pipe.lag() == 0)
        assert pipe.ids() == list(range(30))
        assert pipe.snapshots() == 2
        worker.client.delete(pipe.connector)


@pytest.mark.faults
def test_a_catalog_that_ends_with_the_commit(worker: Worker, pipe: Pipe) -> None:
    """The worker gives up before it can ask whether its commit was applied; the position in the table decides."""
    with CatalogProxy(worker.settings.catalog_uri).running() as proxy:
        proxy.faults = ["drop all"]
        pipe.send([event(n) for n in range(20)])
        connect(worker, pipe, proxy, {})
        eventually(lambda: worker.state(pipe.connector) == "RESTARTING")
        assert pipe.ids() == list(range(20))
        proxy.down = False
        eventually(lambda: worker.state(pipe.connector) == "RUNNING")
        pipe.send([event(n) for n in range(20, 30)])
        eventually(lambda: pipe.lag() == 0)
        assert pipe.ids() == list(range(30))
        assert pipe.snapshots() == 2
        worker.client.delete(pipe.connector)


class Unreliable(CatalogProxy):
    """Every second commit or so goes wrong, before or after it is applied, and one other request in a hundred."""

    def __init__(self, catalog_uri: str, seed: int) -> None:
        super().__init__(catalog_uri)
        self._chance = random.Random(seed)
        self.good = False

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        chance = self._chance.random()
        if self.good:
            self.faults = []
        elif b'"updates"' in body:
            self.faults = [self._chance.choice([*LOST, *REFUSED])] if chance < 0.5 else []
        elif chance < 0.01:
            handler.close_connection = True
            return
        super().answer(handler, body)


@pytest.mark.faults
@pytest.mark.timeout(1200)
def test_an_unreliable_catalog_under_load(worker: Worker) -> None:
    """Appends with new columns, upserts, and a table that does not exist yet, each through a catalog of that kind."""
    cases: dict[str, tuple[dict[str, str], int]] = {
        "appended": ({}, 1),
        "branched": (BRANCH, 2),
        "created": (CREATED, 3),
        "upserted": (UPSERT | {"iceberg.tables.default-id-columns": "id"}, 4),
    }
    with ExitStack() as ends:
        pipes = {name: Pipe(worker.settings, f"unreliable_{name}").create(2) for name in cases}
        pipes["created"].catalog().drop_table(pipes["created"].table_name)
        proxies = []
        for name, (keys, seed) in cases.items():
            proxy = Unreliable(worker.settings.catalog_uri, seed)
            ends.enter_context(proxy.running())
            proxies.append(proxy)
            connect(worker, pipes[name], proxy, keys)
            ends.callback(worker.client.delete, pipes[name].connector)
        with ExitStack() as flows:
            sent = {name: flows.enter_context(steady(pipe, pause=0.5)) for name, pipe in pipes.items()}
            for round_ in range(6):
                eventually(lambda: all(proxy.requested > 4 * (round_ + 1) for proxy in proxies))  # noqa: B023
                for name, numbers in sent.items():
                    pipes[name].send([event(-1 - round_, **{f"field_{round_}": round_})])
                    assert worker.state(pipes[name].connector) in ("RUNNING", "RESTARTING"), numbers[-1]
        for proxy in proxies:
            proxy.good = True
        for name, pipe in pipes.items():
            eventually(lambda pipe=pipe: pipe.lag() == 0)  # type: ignore[misc]
            assert worker.state(pipe.connector) == "RUNNING"
            branch = "audit" if name == "branched" else "main"
            head = pipe.table().metadata.snapshot_by_name(branch)
            assert head is not None
            rows = pipe.table().scan(snapshot_id=head.snapshot_id).to_arrow().to_pylist()
            assert sorted(row["id"] for row in rows) == [*range(-6, 0), *sent[name]]
            assert all(row[f"field_{-1 - row['id']}"] == -1 - row["id"] for row in rows if row["id"] < 0)
