"""The page of a source connector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frazil.clients.postgres import Slot
from tests.connectors.test_debezium_progress import METRICS
from tests.console.test_app import EVIL, Console


class Runtime:
    """Tells of one connector."""

    def connectors(self, request: Any) -> dict[str, Any]:
        config = {"topic.prefix": "shop", "database.password": "swordfish", "name": EVIL}
        status = {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}
        return {"shop-source": {"status": status, "info": {"type": "source", "config": config}}}


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    made = Console(tmp_path)
    made.app.state.sources = Runtime()
    yield made
    made.close()


def test_the_page_shows_what_is_captured_and_the_slot(console: Console) -> None:
    console.source_metrics = METRICS
    console.slots = {
        ("shop-source", "frazil_shop"): Slot(True, False, "0/15", 1 << 20, 3 << 20),
        ("another", "s"): None,
    }
    page = console.client.get("/ui/connectors/shop-source").text
    assert "running: 3 of 5 tables" in page and "1.0 MiB behind" in page and "Slot frazil_shop" in page
    assert "Slot s" not in page and "swordfish" not in page and "<script>alert" not in page


def test_a_slot_that_is_lost_stands_on_top_of_the_first_page(console: Console) -> None:
    console.slots = {("shop-source", "frazil_shop"): Slot(False, True, None, None, None)}
    page = console.client.get("/ui").text
    assert "Its slot frazil_shop is lost, since PostgreSQL has removed log that was not read" in page
