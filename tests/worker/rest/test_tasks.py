from __future__ import annotations

import httpx

from frazil.connectors.keys.versions import VERSION
from tests.worker.lifecycle.runners import ScriptedFactory, eventually
from tests.worker.rest.requests import assert_error, create, sink, wait_for


def test_tasks_have_the_configuration_and_their_class(client: httpx.Client) -> None:
    create(client, "c", tasks__max="2")
    config = {**sink("c", tasks__max="2"), "task.class": "org.apache.iceberg.connect.IcebergSinkTask"}
    assert client.get("/connectors/c/tasks").json() == [
        {"id": {"connector": "c", "task": number}, "config": config} for number in range(2)
    ]
    assert_error(client.get("/connectors/x/tasks"), 404, "Connector x not found")


def test_status_of_a_task(client: httpx.Client) -> None:
    create(client)
    assert client.get("/connectors/c/tasks/0/status").json() == {
        "id": 0,
        "state": "RUNNING",
        "worker_id": "127.0.0.1:8083",
        "version": VERSION,
    }
    assert_error(client.get("/connectors/c/tasks/7/status"), 404, "No status found for task c-7")
    assert_error(client.get("/connectors/x/tasks/0/status"), 404, "No status found for task x-0")


def test_restart_of_a_task(client: httpx.Client, factory: ScriptedFactory) -> None:
    create(client)
    assert client.post("/connectors/c/tasks/0/restart").status_code == 204
    eventually(lambda: factory.life("c") == ["start", "stop", "start"])
    assert_error(client.post("/connectors/c/tasks/7/restart"), 404, "Unknown task: c-7")
    assert_error(client.post("/connectors/x/tasks/0/restart"), 404, "Unknown connector: x")
    client.put("/connectors/c/stop")
    wait_for(client, "c", "STOPPED")
    assert_error(
        client.post("/connectors/c/tasks/0/restart"),
        409,
        "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway.",
    )
