"""What Strimzi's operator asks for a KafkaConnector, in its order, and the codes that it takes for success."""

from __future__ import annotations

import httpx

from tests.waits import eventually
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import sink, wait_for
from tests.worker.watch.positions import KeptPositions

ABSENT = 404


def test_a_connector_from_its_creation_to_its_end(
    client: httpx.Client, factory: ScriptedFactory, positions: KeptPositions
) -> None:
    loggers = client.get("/admin/loggers").json()
    assert all(set(logger) == {"level", "last_modified"} for logger in loggers.values())
    changed = client.put("/admin/loggers/root?scope=cluster", json={"level": "WARN"})
    assert changed.status_code == 204
    assert client.get("/admin/loggers/root").json()["level"] == "WARN"
    plugins = client.get("/connector-plugins").json()
    assert {"class", "type", "version"} <= plugins[0].keys()

    wanted = {key: value for key, value in sink().items() if key != "name"}  # the name is in the path
    assert client.get("/connectors/c/config").status_code == ABSENT
    made = client.put("/connectors/c/config", json=wanted)
    assert (made.status_code, made.json()["config"]) == (201, sink())
    wait_for(client, "c", "RUNNING")
    assert client.get("/connectors").json() == ["c"]
    assert client.get("/connectors/c/config").json() == sink()
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": []}}
    changed = client.put("/connectors/c/config", json={**wanted, "tasks.max": "2"})
    assert changed.status_code == 200
    eventually(lambda: len(client.get("/connectors/c/status").json()["tasks"]) == 2)

    assert client.post("/connectors/c/restart?includeTasks=false&onlyFailed=false").status_code == 204
    factory.last("c").fail("BadRecord: t-0@7")
    wait_for(client, "c", "FAILED")
    assert client.post("/connectors/c/restart?includeTasks=true&onlyFailed=true").status_code == 202
    wait_for(client, "c", "RUNNING")
    assert client.post("/connectors/c/tasks/0/restart").status_code == 204

    assert client.put("/connectors/c/pause").status_code == 202
    wait_for(client, "c", "PAUSED")
    assert client.put("/connectors/c/resume").status_code == 202
    wait_for(client, "c", "RUNNING")
    assert client.put("/connectors/c/stop").status_code == 204
    wait_for(client, "c", "STOPPED")
    positions.offsets["c"] = {("t", 0): 7}
    listed = client.get("/connectors/c/offsets").json()
    assert client.patch("/connectors/c/offsets", json=listed).status_code == 200
    assert client.get("/connectors/c/offsets").json() == listed
    assert client.delete("/connectors/c/offsets").status_code == 200

    assert client.delete("/connectors/c").status_code == 204
    eventually(lambda: client.get("/connectors/c/status").status_code == ABSENT)
    assert client.delete("/connectors/c").status_code == ABSENT


def test_probes_of_its_pods(client: httpx.Client) -> None:
    assert client.get("/health").status_code == 200
    assert client.get("/").status_code == 200
