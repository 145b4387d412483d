"""Life of connectors over HTTP: create, show, change, pause, stop, restart and delete."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frazil.connectors.keys.versions import VERSION
from frazil.pipeline.report import BatchReport
from frazil.worker.watch.active_topics import ActiveTopics
from tests.waits import eventually
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import assert_error, create, sink, wait_for

WORKER = {"worker_id": "127.0.0.1:8083", "version": VERSION}


def test_the_name_is_trimmed(client: httpx.Client) -> None:
    response = client.post("/connectors", json={"name": "  c ", "config": sink("c")})
    assert response.status_code == 201
    assert response.headers["location"] == f"{client.base_url}/connectors/c"
    assert response.json() == {"name": "c", "config": sink("c"), "tasks": [], "type": "sink"}


@pytest.mark.parametrize("body", [{}, {"name": "  "}, {"name": None}])
def test_a_name_is_needed(client: httpx.Client, body: dict[str, object]) -> None:
    config = {key: value for key, value in sink().items() if key != "name"}
    response = client.post("/connectors", json={**body, "config": config})
    assert_error(
        response,
        400,
        "Connector configuration is invalid and contains the following 1 error(s):\n"
        "Invalid value  for configuration name: String may not be empty\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`",
    )


def test_another_name_in_the_configuration_is_refused(client: httpx.Client) -> None:
    response = client.put("/connectors/c/config", json=sink("d"))
    assert_error(response, 400, "Connector name configuration (d) doesn't match connector name in the URL (c)")


def test_a_name_is_given_once(client: httpx.Client) -> None:
    create(client)
    response = client.post("/connectors", json={"name": "c", "config": sink("c")})
    assert_error(response, 409, "Connector c already exists")


def test_expand_shows_what_was_asked_for(client: httpx.Client) -> None:
    create(client, "a", tasks__max="2")
    status = {
        "name": "a",
        "connector": {"state": "RUNNING", **WORKER},
        "tasks": [{"id": 0, "state": "RUNNING", **WORKER}, {"id": 1, "state": "RUNNING", **WORKER}],
        "type": "sink",
    }
    info = {
        "name": "a",
        "config": sink("a", tasks__max="2"),
        "tasks": [{"connector": "a", "task": 0}, {"connector": "a", "task": 1}],
        "type": "sink",
    }
    assert client.get("/connectors").json() == ["a"]
    assert client.get("/connectors?expand=status").json() == {"a": {"status": status}}
    assert client.get("/connectors?expand=info").json() == {"a": {"info": info}}
    assert client.get("/connectors?expand=info&expand=status").json() == {"a": {"status": status, "info": info}}
    assert client.get("/connectors?expand=other").json() == {"a": {}}
    assert client.get("/connectors/a/status").json() == status
    assert client.get("/connectors/a").json() == info


@pytest.mark.parametrize("query", ["", "?includeTasks=true&onlyFailed=true"])
def test_restart_of_an_unknown_connector(client: httpx.Client, query: str) -> None:
    assert_error(client.post(f"/connectors/x/restart{query}"), 404, "Unknown connector: x")


def test_restart_tells_what_it_restarts(client: httpx.Client, factory: ScriptedFactory) -> None:
    create(client)
    healthy = client.post("/connectors/c/restart?includeTasks=true&onlyFailed=true")
    assert healthy.status_code == 202
    assert "RESTARTING" not in healthy.text
    assert factory.life("c") == ["start"]
    plain = client.post("/connectors/c/restart")
    assert (plain.status_code, plain.content) == (204, b"")
    assert factory.life("c") == ["start"]
    chosen = client.post("/connectors/c/restart?includeTasks=TRUE")
    assert (chosen.status_code, chosen.json()["connector"]["state"]) == (202, "RESTARTING")
    assert [task["state"] for task in chosen.json()["tasks"]] == ["RESTARTING"]
    eventually(lambda: factory.life("c") == ["start", "stop", "start"])


def test_pause_resume_and_stop_are_idempotent(client: httpx.Client) -> None:
    create(client)
    for verb, code, state in (("pause", 202, "PAUSED"), ("resume", 202, "RUNNING"), ("stop", 204, "STOPPED")):
        for _ in range(2):
            response = client.put(f"/connectors/c/{verb}")
            assert (response.status_code, response.content) == (code, b"")
        wait_for(client, "c", state)
    assert client.get("/connectors/c").json()["tasks"] == []
    assert client.get("/connectors/c/tasks").json() == []
    assert client.get("/connectors/c/status").json()["tasks"] == []


def test_a_failed_connector_can_be_stopped_mended_and_resumed(client: httpx.Client, factory: ScriptedFactory) -> None:
    create(client)
    factory.last("c").fail("BadRecord: apilogs-0@7: column time is null")
    wait_for(client, "c", "FAILED")
    status = client.get("/connectors/c/status").json()
    trace = "BadRecord: apilogs-0@7: column time is null"
    assert status["connector"] == {"state": "RUNNING", **WORKER}
    assert status["tasks"] == [{"id": 0, "state": "FAILED", **WORKER, "trace": trace}]
    assert client.put("/connectors/c/stop").status_code == 204
    wait_for(client, "c", "STOPPED")
    assert client.put("/connectors/c/config", json=sink("c", errors__tolerance="all")).status_code == 200
    assert client.put("/connectors/c/resume").status_code == 202
    wait_for(client, "c", "RUNNING")


@pytest.mark.parametrize(("sent", "state"), [("paused", "PAUSED"), ("STOPPED", "STOPPED"), (None, "RUNNING")])
def test_a_connector_begins_in_its_initial_state(client: httpx.Client, sent: str | None, state: str) -> None:
    body = {"name": "c", "config": sink(), "initial_state": sent}
    assert client.post("/connectors", json=body).status_code == 201
    wait_for(client, "c", state)
    assert len(client.get("/connectors/c/status").json()["tasks"]) == (1 if state == "RUNNING" else 0)


def test_patch_merges_keys_and_null_removes_one(client: httpx.Client) -> None:
    create(client, "c", old="1")
    response = client.patch("/connectors/c/config", json={"tasks.max": "3", "add": "v", "old": None})
    assert (response.status_code, response.json()["config"]) == (200, {**sink(), "tasks.max": "3", "add": "v"})
    eventually(lambda: len(client.get("/connectors/c").json()["tasks"]) == 3)
    assert client.patch("/connectors/c/config", json={}).status_code == 200
    assert client.patch("/connectors/c/config", json={"tasks.max": "0"}).status_code == 400
    assert_error(client.patch("/connectors/x/config", json={}), 404, "Connector x not found")


def test_put_creates_then_updates(client: httpx.Client) -> None:
    created = client.put("/connectors/c/config", json=sink())
    assert (created.status_code, created.headers["location"]) == (201, f"{client.base_url}/connectors/c")
    wait_for(client, "c", "RUNNING")
    updated = client.put("/connectors/c/config", json=sink("c", tasks__max="2"))
    assert (updated.status_code, updated.json()["tasks"]) == (200, [{"connector": "c", "task": 0}])
    assert "location" not in updated.headers


def test_values_come_back_exactly_as_sent_and_numbers_keep_their_digits(client: httpx.Client) -> None:
    text = (
        '{"connector.class": "IcebergSink", "topics": " t ", "iceberg.tables": "a.b", "iceberg.catalog.type": "rest",'
    )
    text += '"n": 1.50, "e": 1e3, "big": 123456789012345678901234567890, "yes": true, '
    text += '"s.secret": " p ", "\\u00fc": "\\ud83d\\ude00"}'
    response = client.put("/connectors/c/config", content=text, headers={"content-type": "application/json"})
    assert response.status_code == 201
    assert client.get("/connectors/c/config").json() == {
        "connector.class": "IcebergSink",
        "topics": " t ",
        "iceberg.tables": "a.b",
        "iceberg.catalog.type": "rest",
        "n": "1.50",
        "e": "1e3",
        "big": "123456789012345678901234567890",
        "yes": "true",
        "s.secret": " p ",
        "ü": "😀",
        "name": "c",
    }


def test_a_deleted_connector_is_gone(client: httpx.Client) -> None:
    create(client)
    response = client.delete("/connectors/c")
    assert (response.status_code, response.content) == (204, b"")
    assert_error(client.get("/connectors/c/status"), 404, "No status found for connector c")
    assert_error(client.delete("/connectors/c"), 404, "Connector c not found")
    assert client.get("/connectors").json() == []


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/connectors/x", "Connector x not found"),
        ("GET", "/connectors/x/config", "Connector x not found"),
        ("PUT", "/connectors/x/pause", "Unknown connector x"),
        ("PUT", "/connectors/x/resume", "Unknown connector x"),
        ("PUT", "/connectors/x/stop", "Unknown connector x"),
    ],
)
def test_unknown_connectors(client: httpx.Client, method: str, path: str, message: str) -> None:
    assert_error(client.request(method, path), 404, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[]", "The request body is not a JSON object with the fields name and config."),
        ('{"name": "c"}', "The field config is missing or not a JSON object; send an object of keys and values."),
        (
            '{"name": "c", "config": {}, "extra": 1}',
            'Unrecognized field "extra"; the fields of a new connector are name, config, initial_state.',
        ),
        (
            '{"name": "c", "config": {}, "initial_state": "ASLEEP"}',
            "The initial_state is none of RUNNING, PAUSED, STOPPED.",
        ),
        ('{"name": "c", "config": {}}', "Connector config {name} contains no connector type"),
        ('{"name": ["c"], "config": {}}', "The value of name is an array; send it as a string."),
    ],
)
def test_requests_to_create_that_make_no_sense(client: httpx.Client, body: str, message: str) -> None:
    response = client.post("/connectors", content=body, headers={"content-type": "application/json"})
    assert_error(response, 400, message)


def test_unknown_class_and_null_values(client: httpx.Client) -> None:
    unknown = client.put("/connectors/c/config", json=sink("c", connector__class="a.B"))
    assert unknown.status_code == 400
    assert unknown.json()["message"].startswith(
        "Failed to find any class that implements Connector and which name matches a.B, available connectors are: "
    )
    null = client.put("/connectors/c/config", json={**sink(), "stray": None})
    assert "\nNull value can not be supplied as the configuration value.\n" in null.json()["message"]


def test_no_secret_is_in_an_error(client: httpx.Client) -> None:
    config = {"name": "c", "iceberg.catalog.s3.secret-access-key": "topsecret", "tasks.max": "0"}
    for extra in ({}, {"connector.class": "IcebergSink"}, {"connector.class": "none"}):
        response = client.put("/connectors/c/config", json={**config, **extra})
        assert response.status_code == 400
        assert "topsecret" not in response.text


_NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
    lambda name: name == name.strip()
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_NAMES)
def test_every_name_has_an_address_that_location_tells(client: httpx.Client, name: str) -> None:
    config = {key: value for key, value in sink().items() if key != "name"}
    body = {"name": name, "config": config, "initial_state": "STOPPED"}
    created = client.post("/connectors", json=body)
    assert created.status_code == 201, created.text
    location = created.headers["location"]
    assert client.get(location).json()["name"] == name
    assert client.get(f"{location}/config").json() == {**config, "name": name}
    assert client.delete(location).status_code == 204


@pytest.mark.parametrize(
    "name", ["a b", "a+b", "a?b#c;d", "a/b", "a%2Fb", "100%", "a\\b", "..", "日志", "name.with.dots"]
)
def test_odd_names_have_an_address(client: httpx.Client, name: str) -> None:
    created = client.post("/connectors", json={"name": name, "config": sink(name)})
    assert created.status_code == 201
    assert client.get(created.headers["location"] + "/status").json()["name"] == name


def test_control_characters_in_a_name_are_refused(client: httpx.Client) -> None:
    response = client.post("/connectors", json={"name": "a\u0007b", "config": sink("a\u0007b")})
    assert response.status_code == 400
    assert "String may not contain control sequences but had the following ASCII chars: 7" in response.text


def test_trailing_slashes_and_flags_in_any_case_are_taken(client: httpx.Client) -> None:
    create(client)
    assert client.get("/connectors/").json() == ["c"]
    assert client.get("/connectors/c/status/").status_code == 200
    assert client.get("/connector-plugins/").status_code == 200
    assert client.post("/connectors/c/restart?includeTasks=False").status_code == 204


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


def test_topics_until_reset_or_delete(client: httpx.Client, topics: ActiveTopics) -> None:
    create(client)
    report = BatchReport("c", 1, 1, 0, 0, 1, 1, duration_s=1, write_s=1, commit_s=1, end_offsets={("t", 0): 1})
    topics.observe(report)
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": ["t"]}}
    assert client.get("/connectors/x/topics").json() == {"x": {"topics": []}}
    assert client.put("/connectors/c/topics/reset").status_code == 202
    assert client.put("/connectors/x/topics/reset").status_code == 202
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": []}}
    topics.observe(report)
    client.delete("/connectors/c")
    assert client.get("/connectors/c/topics").json() == {"c": {"topics": []}}


def test_tracking_that_is_off_is_refused(client: httpx.Client, topics: ActiveTopics) -> None:
    topics.resettable = False
    assert client.get("/connectors/c/topics").status_code == 200
    assert_error(client.put("/connectors/c/topics/reset"), 403, "Topic tracking reset is disabled.")
    topics.enabled = False
    assert_error(client.get("/connectors/c/topics"), 403, "Topic tracking is disabled.")
    assert_error(client.put("/connectors/c/topics/reset"), 403, "Topic tracking is disabled.")
