from __future__ import annotations

import json

import pytest
import yaml

from frazil.clients.connect import ConnectClient
from tests.cli.connect.conftest import SINK, Program
from tests.connectors.test_debezium_progress import METRICS
from tests.waits import eventually


@pytest.fixture
def filled(program: Program) -> Program:
    for name in ("a", "b"):
        program.client.put_config(name, {**SINK, "iceberg.catalog.s3.secret-access-key": "top-secret"})
    for name in ("a", "b"):
        eventually(lambda: program.client.status(name)["connector"]["state"] == "RUNNING")  # noqa: B023 - waited for
    return program


def test_connectors(filled: Program) -> None:
    lines = filled.ok("get", "connectors").splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["name", "type", "state"],
        ["a", "sink", "RUNNING"],
        ["b", "sink", "RUNNING"],
    ]
    assert set(json.loads(filled.ok("get", "connectors", "-o", "json"))) == {"a", "b"}
    assert set(yaml.safe_load(filled.ok("get", "connectors", "b", "-o", "yaml"))) == {"b"}
    assert len(filled.ok("get", "connectors", "[ab]", "-e").splitlines()) == 3
    code, out, err = filled.run("get", "connectors", "missing")
    assert (code, out) == (1, "")
    assert "404" in err


def test_tasks_topics_plugins_worker(filled: Program) -> None:
    assert "a-0" in filled.ok("get", "tasks", "a")
    assert filled.ok("get", "topics", "a", "-o", "json") == "[]\n"
    assert "org.apache.iceberg.connect.IcebergSinkConnector" in filled.ok("get", "plugins")
    everything = json.loads(filled.ok("plugins", "--all", "-o", "json"))
    assert {"sink", "converter"} <= {plugin["type"] for plugin in everything}
    assert json.loads(filled.ok("get", "worker", "-o", "json"))["version"] == "4.3.1"


def test_describe_hides_secrets_in_the_table_alone(filled: Program) -> None:
    out = filled.ok("describe", "connector", "a")
    assert "top-secret" not in out
    assert "[hidden]" in out
    assert "RUNNING" in out
    described = yaml.safe_load(filled.ok("describe", "connector", "a", "-o", "yaml"))
    assert described["config"]["iceberg.catalog.s3.secret-access-key"] == "top-secret"
    assert described["status"]["name"] == "a"
    assert [one["name"] for one in json.loads(filled.ok("describe", "connector", ".", "-e", "-o", "json"))] == [
        "a",
        "b",
    ]


def test_describe_shows_a_failure_before_the_configuration(filled: Program) -> None:
    filled.factory.last("a").fail("BadRecord: topic-0@5")
    eventually(lambda: "FAILED" in filled.ok("describe", "connector", "a"))
    out = filled.ok("describe", "connector", "a")
    assert out.index("BadRecord: topic-0@5") < out.index("connector.class")


def test_describe_plugin(filled: Program) -> None:
    assert "iceberg.tables" in filled.ok("describe", "plugin", "IcebergSinkConnector")
    code, _, err = filled.run("describe", "plugin", "NoSuchConnector")
    assert code == 1
    assert "Unknown plugin NoSuchConnector." in err


def test_loggers(filled: Program) -> None:
    filled.ok("loggers", "frazil.of.a.test", "ERROR")
    assert json.loads(filled.ok("get", "loggers", "frazil.of.a", "-o", "json"))["frazil.of.a.test"]["level"] == "ERROR"
    assert filled.ok("loggers", "frazil.of.a.test", "INFO", "--scope", "cluster").endswith("(on every worker)\n")
    for arguments, message in ((("frazil", "--scope", "cluster"), "--scope is for setting"), (("x", "LOUD"), "LOUD")):
        code, _, err = filled.run("loggers", *arguments)
        assert code == 2
        assert message in err
    code, _, err = filled.run("loggers", "no.such.logger")
    assert (code, "there is no logger no.such.logger" in err) == (1, True)


def test_describe_shows_how_far_a_source_is(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program.client.metrics() == (), "no worker of a test has metrics there"
    state = {"state": "RUNNING", "worker_id": "w"}
    status = {"connector": state, "tasks": [{"id": 0, **state}]}
    for name, answer in {
        "connectors": ["shop"],
        "info": {"name": "shop", "type": "source", "config": {"topic.prefix": "shop"}},
        "status": status,
        "topics": [],
        "metrics": METRICS,
    }.items():
        monkeypatch.setattr(ConnectClient, name, lambda self, *names, answer=answer: answer)
    out = program.ok("describe", "connector", "shop")
    assert "running: 3 of 5 tables, 1,234 rows" in out
    assert "behind the database" in out
