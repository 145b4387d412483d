"""Dead letters are replayed once the mistake is mended, each exactly once."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from pyiceberg.types import LongType

from frazil.environment.settings import Settings
from tests.cli.programs import finished, program, text_here
from tests.connectors.iceberg.proxy import CatalogProxy
from tests.harness import Pipe, Worker, event
from tests.waits import eventually

pytestmark = pytest.mark.spark

TOLERANT = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.context.headers.enable": "true",
    "iceberg.tables.evolve-schema-enabled": "false",
}
"""Without evolution, which would make a column wider for a number that is too large."""
TOO_BIG = 2**31
COMMIT_ATTEMPTS = 8


class KillingProxy(CatalogProxy):
    """Kills a process with SIGKILL when its first commit has been applied, and before it learns of that."""

    def __init__(self, catalog_uri: str) -> None:
        super().__init__(catalog_uri)
        self.victim: subprocess.Popen[str] | None = None

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        if self.victim is not None and handler.command == "POST" and b'"add-snapshot"' in body:
            status, _, _ = self._forward(handler, body)
            assert status == 200
            self.victim.kill()
            self.victim = None
            handler.close_connection = True
        else:
            super().answer(handler, body)


@contextmanager
def killing(settings: Settings) -> Iterator[KillingProxy]:
    proxy = KillingProxy(settings.catalog_uri)
    with proxy.running():
        yield proxy


def deadletters(settings: Settings, *arguments: str) -> tuple[int, str]:
    ran = text_here(settings.env, "deadletters", *arguments)
    return ran.returncode, ran.stdout + ran.stderr


def open_letters(pipe: Pipe) -> list[dict[str, Any]]:
    every = ("--all", "-n", "100000", "-o", "json", "--connector", pipe.connector)
    listed = text_here(pipe.settings.env, "deadletters", "list", *every)
    assert listed.returncode == 0, listed.stderr
    found: list[dict[str, Any]] = json.loads(listed.stdout)
    return found


def replay(pipe: Pipe, *arguments: str, settings: Settings | None = None) -> tuple[int, str]:
    return deadletters(settings or pipe.settings, "replay", "--connector", pipe.connector, *arguments)


def widen(pipe: Pipe) -> None:
    """Mend the mistake: `count` takes 64 bits from now on."""
    with pipe.table().update_schema() as update:
        update.update_column("count", LongType())


def start(worker: Worker, pipe: Pipe, **more: str) -> None:
    worker.client.put_config(pipe.connector, pipe.config(**more) | TOLERANT)
    eventually(lambda: pipe.lag() == 0)


def test_records_that_fit_by_now_are_stored_and_the_others_stay(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n) if n % 2 else event(n, count=TOO_BIG + n) for n in range(20)])
    pipe.send([event(20, count="many"), event(21, count=TOO_BIG, extra={"note": "new"})], key=b"k")
    start(worker, pipe)
    assert pipe.ids() == list(range(1, 20, 2))
    assert len(open_letters(pipe)) == 12

    assert replay(pipe)[0] == 1  # nothing is mended yet
    widen(pipe)
    worker.client.put_config(
        pipe.connector, pipe.config() | TOLERANT | {"iceberg.tables.evolve-schema-enabled": "true"}
    )
    code, told = replay(pipe, "--dry-run")
    assert (code, told.count("would be stored"), told.count("would fail again")) == (1, 12, 2)
    assert pipe.ids() == list(range(1, 20, 2))
    code, told = replay(pipe)
    assert code == 1
    assert (
        "open: column count: the text is not an integer for type long; frazil.schema.path.count=string takes " in told
    )
    assert "11 stored, 1 stays open." in told
    assert pipe.ids() == [*range(20), 21]
    assert {row["id"]: row["extra"] for row in pipe.rows()}[21] == {"note": "new"}
    [left] = open_letters(pipe)
    assert (left["column"], left["record"]["topic"]) == ("count", pipe.name)

    snapshots = pipe.snapshots()
    assert replay(pipe)[0] == 1
    assert pipe.snapshots() == snapshots
    assert deadletters(pipe.settings, "drop", "--connector", pipe.connector, "--yes")[0] == 0
    assert open_letters(pipe) == []
    code, told = replay(pipe)
    assert (code, told.splitlines()[-1]) == (0, "There are no such open dead letters.")
    pipe.send([event(30)])
    eventually(lambda: pipe.ids() == [*range(20), 21, 30])


@pytest.mark.outage
@pytest.mark.faults
def test_killed_after_the_commit_and_before_the_markers(worker: Worker, pipe: Pipe) -> None:
    pipe.send([event(n, count=TOO_BIG + n) for n in range(50)])
    start(worker, pipe)
    widen(pipe)
    with killing(pipe.settings) as proxy:
        worker.client.put_config(pipe.connector, pipe.config(iceberg__catalog__uri=proxy.uri) | TOLERANT)
        eventually(lambda: worker.state(pipe.connector) == "RUNNING")
        victim = program(pipe.settings, "deadletters", "replay", "--connector", pipe.connector)
        proxy.victim = victim
        code, told = finished(victim)
        assert code == -signal.SIGKILL, told
        assert pipe.ids() == list(range(50))
        assert len(open_letters(pipe)) == 50
        snapshots = pipe.snapshots()

        code, told = replay(pipe)

        assert (code, "50 in the table already." in told) == (0, True), told
        assert pipe.snapshots() == snapshots
        worker.client.put_config(pipe.connector, pipe.config() | TOLERANT)
    assert pipe.ids() == list(range(50))
    assert open_letters(pipe) == []


@pytest.mark.faults
def test_two_at_once_while_records_flow(worker: Worker, pipe: Pipe) -> None:
    bad, good = range(3000), range(10_000, 10_000 + 3000)
    pipe.send([event(n, count=TOO_BIG + n) for n in bad])
    start(worker, pipe)
    widen(pipe)
    stop = threading.Event()
    sent = 0

    def live() -> None:
        nonlocal sent
        while not stop.is_set() and sent < len(good):
            pipe.send([event(n) for n in good[sent : sent + 50]])
            sent += 50
            stop.wait(0.2)

    producer = threading.Thread(target=live)
    producer.start()
    try:
        eventually(lambda: len(pipe.ids()) > 0)
        both = [program(pipe.settings, "deadletters", "replay", "--connector", pipe.connector) for _ in range(2)]
        told = [finished(process) for process in both]
    finally:
        stop.set()
        producer.join()
    assert [code for code, _ in told] == [0, 0], told
    eventually(lambda: pipe.lag() == 0)
    assert pipe.ids() == [*bad, *good[:sent]]
    assert open_letters(pipe) == []
    assert worker.state(pipe.connector) == "RUNNING"


def test_of_several_tables_only_those_that_refused_get_the_row(worker: Worker, pipe: Pipe) -> None:
    second = f"{pipe.table_name}_second"
    wide = pipe.catalog().create_table(second, pipe.schema)
    with wide.update_schema() as update:
        update.update_column("count", LongType())
    pipe.send([event(1, count=TOO_BIG), event(2), event(3, count="many")])
    start(worker, pipe, iceberg__tables=f"{pipe.table_name},{second}")
    assert (pipe.ids(), sorted(wide.refresh().scan().to_arrow()["id"].to_pylist())) == ([2], [1, 2])
    assert sorted((x["reason"][:8], x["table"]) for x in open_letters(pipe)) == [
        ("the numb", pipe.table_name),
        ("the text", pipe.table_name),
        ("the text", second),
    ]

    widen(pipe)
    code, _ = replay(pipe, "--reason", "32 bits")

    assert code == 0
    assert (pipe.ids(), sorted(wide.refresh().scan().to_arrow()["id"].to_pylist())) == ([1, 2], [1, 2])


@pytest.mark.faults
@pytest.mark.outage
def test_a_record_that_its_connector_stores_after_all_is_closed(worker: Worker, pipe: Pipe) -> None:
    """Its first run wrote the dead letter and could not commit; when it reads the record again the table takes it."""
    pipe.send([event(1, count=TOO_BIG), event(2, count="many"), event(3)])
    with killing(pipe.settings) as proxy:
        proxy.faults = ["503 before"] * COMMIT_ATTEMPTS
        worker.client.put_config(pipe.connector, pipe.config(iceberg__catalog__uri=proxy.uri) | TOLERANT)
        eventually(lambda: proxy.requested > 0)
        assert len(open_letters(pipe)) == 2
        widen(pipe)
        eventually(lambda: pipe.lag() == 0)
        worker.client.put_config(pipe.connector, pipe.config() | TOLERANT)
    assert pipe.ids() == [1, 3]
    [left] = open_letters(pipe)
    assert left["reason"].startswith("the text is not an integer")
    assert replay(pipe)[0] == 1
    assert pipe.ids() == [1, 3]
