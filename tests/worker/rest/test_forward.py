"""Two workers that think that a third rules, and workers that know each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.storage.session import SessionKeys
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.worker.lifecycle.runners import ScriptedFactory
from tests.worker.rest.requests import assert_error, placed, sink
from tests.worker.watch.positions import KeptPositions

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
CONFLICT = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


@dataclass
class Told:
    """A group whose facts are what the test says."""

    leads: bool = False
    url: str | None = None
    position: int = 0
    read: list[int] = field(default_factory=list)
    session: SessionKeys = field(default_factory=SessionKeys)

    def runs(self, name: str) -> bool:
        return self.leads

    def leader_url(self) -> str | None:
        return self.url

    def url_of(self, name: str) -> str | None:
        return self.url

    def read_until(self, position: int, timeout: float) -> bool:
        self.read.append(position)
        return True


@dataclass
class Node:
    group: Told
    client: httpx.Client
    herder: Herder
    forwarder: Forwarder


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Node]]:
    """Two workers; neither knows of the other yet."""
    with ExitStack() as stack:
        made: list[Node] = []
        key = SessionKeys.new()
        for number in range(2):
            group = Told()
            group.session.learn(key)
            herder = Herder(FileConfigStore(tmp_path / f"{number}.json"), ScriptedFactory(), f"worker-{number}:1")
            herder.start()
            stack.callback(herder.close)
            info = WorkerInfo("k", KeptPositions(), ActiveTopics(), Loggers())
            forwarder = Forwarder(group, f"worker-{number}:1", patience_s=0.0)
            stack.callback(forwarder.close)
            server = serve(rest_app(herder, info, forwarder=forwarder), "127.0.0.1", 0, "PORT")
            stack.callback(server.stop)
            client = httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False)
            made.append(Node(group, stack.enter_context(client), herder, forwarder))
        yield made


def ask(node: Node, method: str, path: str) -> httpx.Response:
    path = path.replace("{name}", "c").replace("{task}", "0")
    has_body = method in ("post", "put", "patch") and path.endswith(("connectors", "config", "offsets"))
    return node.client.request(method.upper(), path, json={} if has_body else None)


def test_a_group_that_is_being_arranged_answers_as_connect_does(nodes: list[Node]) -> None:
    assert len(placed()) == 11
    for method, path in placed():
        assert_error(ask(nodes[0], method, path), 409, NO_LEADER)


def test_a_request_is_sent_on_once(nodes: list[Node]) -> None:
    one, other = nodes
    one.group.url, other.group.url = str(other.client.base_url), str(one.client.base_url)
    for method, path in placed():
        assert_error(ask(one, method, path), 409, CONFLICT)


def test_a_body_that_is_no_json_is_refused_by_whoever_is_asked(nodes: list[Node]) -> None:
    headers = {"content-type": "application/json"}
    answer = nodes[0].client.put("/connectors/c/config", content=b"{", headers=headers)
    assert answer.status_code == 400


def test_a_worker_that_does_not_answer(nodes: list[Node], free_ports: Callable[[int], list[int]]) -> None:
    one = nodes[0]
    one.group.url = f"http://127.0.0.1:{free_ports(1)[0]}"
    assert_error(ask(one, "delete", "/connectors/{name}"), 409, CONFLICT)


def test_the_answer_is_that_of_the_other_worker_which_this_one_then_knows(nodes: list[Node]) -> None:
    one, other = nodes
    one.group.url, other.group.leads, other.group.position = str(other.client.base_url), True, 17
    name = "a b/ü%"
    created = one.client.post("/connectors", json={"name": name, "config": sink(name)})
    assert (created.status_code, created.json()["name"]) == (201, name)
    # The address is that of the worker that was asked.
    assert created.headers["location"] == f"{one.client.base_url}/connectors/a%20b%2F%C3%BC%25"
    assert one.group.read == [17]
    assert (one.herder.connectors(), other.herder.connectors()) == ([], [name])
    path = "/connectors/a%20b%2F%C3%BC%25"
    assert one.client.put(f"{path}/pause").status_code == 202
    restarted = one.client.post(f"{path}/restart?includeTasks=true&onlyFailed=false")
    assert (restarted.status_code, restarted.json()["name"]) == (202, name)
    assert_error(
        one.client.post("/connectors", json={"name": name, "config": sink(name)}),
        409,
        f"Connector {name} already exists",
    )
    assert_error(one.client.delete("/connectors/x"), 404, "Connector x not found")
    assert one.client.delete(path).status_code == 204
    assert other.herder.connectors() == []


def test_what_any_worker_knows_is_not_sent_on(nodes: list[Node]) -> None:
    for path in ("/", "/connectors", "/connector-plugins", "/admin/loggers"):
        assert nodes[0].client.get(path).status_code == 200


HOP = {"frazil-forwarded-by": "worker-9:1", "frazil-forwarded-to": "leader"}
FORGED = "Internal request contained invalid signature."


@pytest.mark.parametrize("header", [*HOP])
@pytest.mark.parametrize(("method", "path"), [("DELETE", "/connectors/c"), ("GET", "/connectors"), ("GET", "/")])
def test_a_request_that_no_worker_has_signed_is_refused(nodes: list[Node], header: str, method: str, path: str) -> None:
    node = nodes[0]
    node.group.leads = True
    node.client.post("/connectors", json={"name": "c", "config": sink("c")})
    for signature in (b"", b"AAAA", "ü".encode()):
        headers = {header.encode(): b"leader", b"x-connect-authorization": signature}
        assert_error(node.client.request(method, path, headers=headers), 403, FORGED)
    assert node.herder.connectors() == ["c"]


def test_a_signature_is_of_one_request_only(nodes: list[Node]) -> None:
    """One that was seen on the way cannot be used for another path, query, method or body."""
    one, other = nodes
    seen: list[httpx.Request] = []
    one.group.url, other.group.leads = str(other.client.base_url), True
    hooked = one.forwarder._http  # noqa: SLF001
    hooked.event_hooks["request"].append(seen.append)
    assert one.client.put("/connectors/c/config", json=sink("c")).status_code == 201
    (sent,) = seen
    assert sent.headers["x-connect-request-signature-algorithm"] == "HmacSHA256"
    again = {"headers": sent.headers, "content": sent.content}
    assert other.client.request("PUT", "/connectors/c/config", **again).status_code == 200  # type: ignore[arg-type]
    for method, path, content in (
        ("PUT", "/connectors/d/config", sent.content),
        ("PUT", "/connectors/c/config?x=1", sent.content),
        ("PATCH", "/connectors/c/config", sent.content),
        ("PUT", "/connectors/c/config", sent.content + b" "),
    ):
        length = {"content-length": str(len(content))}
        answer = other.client.request(method, path, headers={**sent.headers, **length}, content=content)
        assert_error(answer, 403, FORGED)
    assert other.herder.connectors() == ["c"]


def test_a_client_cannot_have_its_own_signature_sent_on(nodes: list[Node]) -> None:
    one, other = nodes
    one.group.url, other.group.leads = str(other.client.base_url), True
    headers = {"X-Connect-Authorization": "mine", "X-Connect-Request-Signature-Algorithm": "none"}
    assert_error(one.client.delete("/connectors/x", headers=headers), 404, "Connector x not found")


def test_the_key_before_the_newest_is_good_and_older_ones_are_not(nodes: list[Node]) -> None:
    one, other = nodes
    one.group.url, other.group.leads = str(other.client.base_url), True
    for expected in (404, 409):
        other.group.session.learn(SessionKeys.new())
        assert one.client.delete("/connectors/x").status_code == expected


def test_without_a_key_nothing_is_sent_on(nodes: list[Node]) -> None:
    one, other = nodes
    one.group.url, other.group.leads, one.group.session = str(other.client.base_url), True, SessionKeys()
    assert_error(one.client.delete("/connectors/x"), 409, NO_LEADER)
