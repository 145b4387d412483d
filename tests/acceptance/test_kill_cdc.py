"""Worker, source runtime, PostgreSQL, broker and store are killed while a database changes: its tables follow it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from frazil.cdc.shop import TABLES, Shop
from frazil.cli.verbs.demo_cdc import connectors
from frazil.cli.verbs.verify_database import compared
from frazil.clients.connect import ConnectClient
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.stack.connect import sources_service
from frazil.stack.service import Status
from tests.acceptance.capture import SINK, SOURCE, again, debezium, deployed, kill, services
from tests.waits import eventually

pytestmark = [pytest.mark.spark, pytest.mark.faults]

ROUNDS = 2


class Traffic(threading.Thread):
    """Changes the shop all the time, also after its database has come back."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.transactions = 0
        self._access = settings.postgres_access()
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            with suppress(psycopg.OperationalError):
                self._trade()
            self._stopped.wait(0.5)

    def _trade(self) -> None:
        shop = Shop(self._access, seed=self.transactions)
        try:
            while not self._stopped.wait(0.02):
                shop.transact()
                self.transactions += 1
        finally:
            shop.close()

    def stop(self) -> None:
        self._stopped.set()
        self.join()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Settings]:
    """A shop in PostgreSQL that tables follow, with services of its own."""
    with debezium(tmp_path) as settings:
        opened = Shop(settings.postgres_access())
        opened.fill(30)
        opened.close()
        deploy(settings)
        yield settings


def deploy(settings: Settings) -> None:
    wanted = connectors(settings)
    deployed(settings, {name: wanted[name] for name in (SOURCE, SINK)})
    with ConnectClient(settings.connect_access) as client:
        eventually(lambda: has_snapshot(client, SOURCE))


def has_snapshot(client: ConnectClient, name: str) -> bool:
    """Whether a source connector has noted that its snapshot has ended, so it takes no other one after a kill."""
    with suppress(FrazilError):
        return any(one["offset"].get("snapshot_completed", True) for one in client.offsets(name))
    return False


def differences(settings: Settings) -> dict[str, str]:
    """Tables that are not equal to the database's, or not there yet."""
    try:
        found = compared(settings, {SINK: connectors(settings)[SINK]}, settings.postgres_access(), lambda text: None)
    except FrazilError as error:
        return {"": str(error)}
    told = {
        one.target: f"{one.stored} of {one.rows}, missing {one.missing[:3]}, surplus {one.surplus[:3]}, "
        f"other {one.other[:3]}, doubled {one.doubled}"
        for one in found
        if not one.equal
    }
    return told if len(found) == len(TABLES) else {"": f"{len(found)} tables", **told}


@pytest.mark.timeout(1800)
def test_ten_kills_leave_each_row_as_the_database_has_it(shop: Settings) -> None:
    chance = random.Random(10)
    victims = [*services(shop), sources_service(shop, {})] * ROUNDS
    chance.shuffle(victims)
    traffic = Traffic(shop)
    traffic.start()
    try:
        for victim in victims:
            before = traffic.transactions
            eventually(lambda before=before: traffic.transactions > before + 20)  # type: ignore[misc]
            kill(victim)
            if victim.name != "sources":  # which is the worker's to start
                eventually(lambda victim=victim: again(victim))  # type: ignore[misc]
        for service in services(shop):
            assert service.state().status is Status.RUNNING, service.name
    finally:
        traffic.stop()
    assert traffic.transactions > 200

    try:
        eventually(lambda: not differences(shop))
    except AssertionError:
        with ConnectClient(shop.connect_access) as client:
            assert differences(shop) == {}, (client.status(SOURCE), client.offsets(SOURCE), client.status(SINK))
