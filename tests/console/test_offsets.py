from __future__ import annotations

from pathlib import Path

import pytest

from tests.connectors.broker import Broker
from tests.console.test_app import Console
from tests.waits import eventually


def test_a_position_can_be_forgotten_while_the_connector_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker().install(monkeypatch)
    broker.make("orders")
    broker.send("orders", [b"{}"] * 5)
    console = Console(tmp_path)
    try:
        console.run("orders")
        assert "No position" in console.client.get("/ui/connectors/orders/offsets").text
        broker.groups["connect-orders"] = {("orders", 0): (4, "")}
        running = console.client.get("/ui/connectors/orders/offsets").text
        assert "orders-0: 4 records from offset 0 on would be read again" in running
        assert "Forget the position</button>" not in running
        console.herder.stop("orders")
        eventually(lambda: console.herder.status("orders").state == "STOPPED")
        assert "Forget the position</button>" in console.client.get("/ui/connectors/orders/offsets").text
    finally:
        console.close()
