"""Workers of a group that do not have the runtime of source connectors, over real HTTP; the runtime is not up yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import pytest

from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.sources.runtime import SourceRuntime
from frazil.worker.storage.session import SessionKeys
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.isolation import isolated_settings
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import assert_error, sink
from tests.worker.rest.test_forward import CONFLICT, NO_LEADER, Node, Told
from tests.worker.watch.positions import KeptPositions

LINES = {"name": "lines", "config": {"name": "lines"}, "tasks": [], "type": "source"}


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Node]]:
    """The leader, which has seen a source connector, and a follower that knows of none."""
    with ExitStack() as stack:
        made = []
        key = SessionKeys.new()
        for number in range(2):
            home = tmp_path / str(number)
            (home / "worker").mkdir(parents=True)
            group = Told(leads=number == 0)
            group.session.learn(key)
            if group.leads:
                (home / "worker" / "sources.json").write_text(json.dumps({"lines": {"info": LINES}}))
            sources = SourceRuntime(isolated_settings(home), {"plugin.path": str(home)}, partial(_leads, group), 1.0)
            stack.callback(sources.close)
            herder = Herder(FileConfigStore(home / "c.json"), ScriptedFactory(), f"worker-{number}:1")
            herder.start()
            stack.callback(herder.close)
            info = WorkerInfo("k", KeptPositions(), ActiveTopics(), Loggers())
            forwarder = Forwarder(group, f"worker-{number}:1", patience_s=0.0)
            stack.callback(forwarder.close)
            server = serve(rest_app(herder, info, sources=sources, forwarder=forwarder), "127.0.0.1", 0, "PORT")
            stack.callback(server.stop)
            client = httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False)
            made.append(Node(group, stack.enter_context(client), herder, forwarder))
        made[1].group.url = str(made[0].client.base_url)
        yield made


def _leads(group: Told) -> bool:
    return group.leads


def test_all_tell_what_the_leader_tells(nodes: list[Node]) -> None:
    leader, follower = nodes
    for node in nodes:
        node.herder.create("sink", sink("sink"))
    assert leader.client.get("/connectors").json() == follower.client.get("/connectors").json() == ["lines", "sink"]
    told = [node.client.get("/connectors?expand=status&expand=info").json()["lines"] for node in nodes]
    assert told[0] == told[1]
    assert told[0]["status"]["connector"] == {"state": "UNASSIGNED", "worker_id": ""}
    for method, path in (("GET", "/status"), ("GET", ""), ("PUT", "/pause"), ("POST", "/restart"), ("DELETE", "")):
        answers = [node.client.request(method, f"/connectors/lines{path}") for node in nodes]
        assert [answer.status_code for answer in answers] == [500, 500], path
        assert "does not answer (it is starting)" in answers[1].json()["message"]
    assert_error(follower.client.get("/connectors/none"), 404, "Connector none not found")


def test_without_a_leader_the_list_is_the_last_one(nodes: list[Node]) -> None:
    follower = nodes[1]
    assert follower.client.get("/connectors").json() == ["lines"]
    follower.group.url = None
    assert follower.client.get("/connectors").json() == ["lines"]
    assert_error(follower.client.get("/connectors/lines/status"), 409, NO_LEADER)
    follower.group.url = "http://127.0.0.1:9"
    assert follower.client.get("/connectors").json() == ["lines"]
    assert_error(follower.client.put("/connectors/lines/stop"), 409, CONFLICT)


def test_a_request_for_the_leader_is_not_sent_on_twice(nodes: list[Node]) -> None:
    one, other = nodes
    one.group.leads, one.group.url = False, str(other.client.base_url)
    for method, path in (("GET", "/connectors/lines"), ("PUT", "/connectors/lines/resume"), ("GET", "/connectors/x")):
        assert_error(one.client.request(method, path), 409, CONFLICT)
    assert one.client.get("/connectors").json() == ["lines"]
