"""What pages of other origins may do, over real HTTP."""

from __future__ import annotations

import httpx
import pytest

from frazil.worker.lifecycle.herder import Herder
from tests.connectors.samples import MINIMAL_SINK
from tests.worker.rest.security.serving import Serve

EVIL = {"origin": "http://evil.example"}
WRITES = [
    ("POST", "/connectors"),
    ("PUT", "/connectors/c/config"),
    ("PATCH", "/connectors/c/config"),
    ("DELETE", "/connectors/c"),
    ("POST", "/connectors/c/restart"),
    ("POST", "/connectors/c/tasks/0/restart"),
    ("PUT", "/connectors/c/pause"),
    ("PUT", "/connectors/c/topics/reset"),
    ("DELETE", "/connectors/c/offsets"),
    ("PUT", "/admin/loggers/root"),
    ("POST", "/no/such/path"),
]


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_a_foreign_page_changes_nothing(serve: Serve, herder: Herder, method: str, path: str) -> None:
    herder.create("c", {**MINIMAL_SINK, "name": "c"})
    url, _ = serve({})
    for headers in (
        EVIL,
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {**EVIL, "sec-fetch-site": "cross-site"},
        {"origin": url.replace("http", "https"), "sec-fetch-site": "cross-site"},
    ):
        answer = httpx.request(method, url + path, headers=headers)
        assert (answer.status_code, answer.json()["error_code"]) == (403, 403), headers
        assert "Nothing was done" in answer.json()["message"]
    assert herder.connectors() == ["c"]


def test_reading_is_left_to_what_browsers_let_pages_see(serve: Serve) -> None:
    url, _ = serve({})
    for method in ("GET", "HEAD", "OPTIONS"):
        answer = httpx.request(method, f"{url}/connectors", headers=EVIL)
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers


def test_the_workers_own_pages_and_other_clients_may_write(serve: Serve) -> None:
    url, _ = serve({})
    for headers in ({}, {"origin": url}, {"sec-fetch-site": "same-origin", **EVIL}, {"sec-fetch-site": "none"}):
        assert httpx.post(f"{url}/connectors/nope/restart", headers=headers).status_code == 404, headers


def test_an_origin_of_the_configuration_may_write(serve: Serve) -> None:
    url, _ = serve({"access.control.allow.origin": "https://ui.example, https://other.example"})
    foreign = {"sec-fetch-site": "cross-site"}
    answer = httpx.post(f"{url}/connectors/nope/restart", headers={"origin": "https://ui.example", **foreign})
    assert answer.status_code == 404
    assert answer.headers["access-control-allow-origin"] == "https://ui.example"
    assert httpx.post(f"{url}/connectors/nope/restart", headers={**EVIL, **foreign}).status_code == 403
    anyone, _ = serve({"access.control.allow.origin": "*"})
    assert httpx.post(f"{anyone}/connectors/nope/restart", headers={**EVIL, **foreign}).status_code == 404
