"""Offsets of connectors over HTTP."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from frazil.errors import CommitConflict, Fenced
from tests.waits import PATIENCE_S, eventually
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import assert_error, create, wait_for
from tests.worker.watch.positions import KeptPositions

REPEATS = "Records that are read again are stored again, so rows may repeat."
NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/c/stop' endpoint"
)


def entry(partition: object = 0, offset: object = 5, topic: object = "t") -> dict[str, Any]:
    return {
        "partition": {"kafka_topic": topic, "kafka_partition": partition},
        "offset": None if offset is None else {"kafka_offset": offset},
    }


@pytest.fixture
def stopped(client: httpx.Client) -> None:
    create(client)
    client.put("/connectors/c/stop")
    wait_for(client, "c", "STOPPED")


def test_shown_in_the_shape_of_sinks(client: httpx.Client, positions: KeptPositions) -> None:
    create(client)
    assert client.get("/connectors/c/offsets").json() == {"offsets": []}
    positions.offsets["c"] = {("t", 1): 7, ("t", 0): 3}
    assert client.get("/connectors/c/offsets").json() == {"offsets": [entry(0, 3), entry(1, 7)]}
    assert_error(client.get("/connectors/x/offsets"), 404, "Connector x not found")


@pytest.mark.usefixtures("stopped")
def test_move_and_forget(client: httpx.Client, positions: KeptPositions) -> None:
    positions.offsets["c"] = {("t", 0): 3, ("t", 1): 7}
    positions.remarks = ["A remark."]
    body = {"offsets": [entry("0", "5"), {"partition": entry(1)["partition"]}]}
    answer = client.patch("/connectors/c/offsets", json=body)
    message = f"The offsets for this connector have been altered successfully. {REPEATS} A remark."
    assert (answer.status_code, answer.json()) == (200, {"message": message})
    assert client.get("/connectors/c/offsets").json() == {"offsets": [entry(0, 5)]}
    for _ in range(2):
        answer = client.delete("/connectors/c/offsets")
        message = f"The offsets for this connector have been reset successfully. {REPEATS} A remark."
        assert (answer.status_code, answer.json()) == (200, {"message": message})
    assert client.get("/connectors/c/offsets").json() == {"offsets": []}


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("body", [{}, {"offsets": []}, {"offsets": None}])
def test_a_change_of_nothing_is_refused(client: httpx.Client, body: object) -> None:
    message = "Partitions / offsets need to be provided for an alter offsets request"
    assert_error(client.patch("/connectors/c/offsets", json=body), 400, message)


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("one", "message"),
    [
        ({}, "The partition for a sink connector offset cannot be null or missing"),
        (
            {"partition": {}},
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'",
        ),
        (
            entry("not a number"),
            "Failed to parse the following Kafka partition value in the provided offsets: 'not a number'. "
            "Partition values for sink connectors need to be integers.",
        ),
        (
            entry(1.5),
            "Failed to parse the following Kafka partition value in the provided offsets: '1.5'. "
            "Partition values for sink connectors need to be integers.",
        ),
        (
            {**entry(), "offset": {}},
            "The offset for a sink connector should either be null or contain the key 'kafka_offset'",
        ),
        (
            entry(0, "far"),
            "Failed to parse the following Kafka offset value in the provided offsets: 'far'. "
            "Offset values for sink connectors need to be integers.",
        ),
        (
            {**entry(), "offset": {"kafka_offset": None}},
            "Failed to parse the following Kafka offset value in the provided offsets: 'null'. "
            "Offset values for sink connectors need to be integers.",
        ),
        (entry(None), "Kafka partitions must be valid numbers and may not be null"),
        (entry(topic=None), "Kafka topic names must be valid strings and may not be null"),
        (None, "An entry of offsets is not an object with the fields partition and offset."),
    ],
)
def test_malformed_entries_are_refused(
    client: httpx.Client, positions: KeptPositions, one: object, message: str
) -> None:
    assert_error(client.patch("/connectors/c/offsets", json={"offsets": [entry(), one]}), 400, message)
    assert positions.offsets == {}


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "The request body is not a JSON object with the field offsets."),
        ({"offset": []}, 'Unrecognized field "offset"; the only field is offsets.'),
        ({"offsets": {}}, "The field offsets is not an array of objects with the fields partition and offset."),
        ({"offsets": [entry(), entry("0")]}, "The partition t-0 is given more than once."),
    ],
)
def test_bodies_that_make_no_sense(client: httpx.Client, body: object, message: str) -> None:
    assert_error(client.patch("/connectors/c/offsets", json=body), 400, message)


@pytest.mark.parametrize("verb", [None, "pause"])
def test_offsets_change_only_while_the_connector_is_stopped(
    client: httpx.Client, positions: KeptPositions, verb: str | None
) -> None:
    create(client)
    if verb:
        client.put(f"/connectors/c/{verb}")
    assert_error(client.patch("/connectors/c/offsets", json={"offsets": [entry()]}), 400, NOT_STOPPED)
    assert_error(client.delete("/connectors/c/offsets"), 400, NOT_STOPPED)
    assert positions.offsets == {}


def test_unknown_connector(client: httpx.Client) -> None:
    assert_error(client.patch("/connectors/x/offsets", json={"offsets": [entry()]}), 404, "Connector x not found")
    assert_error(client.delete("/connectors/x/offsets"), 404, "Connector x not found")


def test_it_waits_until_the_query_has_stopped(
    client: httpx.Client, factory: ScriptedFactory, positions: KeptPositions
) -> None:
    create(client)
    gate = threading.Event()
    factory.before_stop = lambda name: gate.wait(PATIENCE_S)  # type: ignore[assignment]
    client.put("/connectors/c/stop")
    positions.offsets["c"] = {("t", 0): 3}
    answers: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: answers.append(client.delete("/connectors/c/offsets")))
    thread.start()
    thread.join(0.3)
    assert (answers, positions.offsets["c"]) == ([], {("t", 0): 3})
    gate.set()
    thread.join(PATIENCE_S)
    assert (answers[0].status_code, positions.offsets["c"]) == (200, {})


@pytest.mark.usefixtures("stopped")
def test_nothing_is_started_meanwhile(client: httpx.Client, factory: ScriptedFactory, positions: KeptPositions) -> None:
    positions.gate.clear()
    thread = threading.Thread(target=lambda: client.delete("/connectors/c/offsets"))
    thread.start()
    assert positions.asked.wait(PATIENCE_S)
    assert client.put("/connectors/c/resume").status_code == 202
    thread.join(0.3)
    assert factory.life("c") == ["start", "stop"]
    positions.gate.set()
    thread.join(PATIENCE_S)
    eventually(lambda: factory.life("c") == ["start", "stop", "start"])


@pytest.mark.usefixtures("stopped")
def test_faults_of_the_services(client: httpx.Client, positions: KeptPositions) -> None:
    positions.problem = Fenced("another worker has committed")
    assert_error(client.delete("/connectors/c/offsets"), 409, "another worker has committed")
    positions.problem = CommitConflict("others were faster")
    assert_error(client.delete("/connectors/c/offsets"), 500, "others were faster")
