from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from frazil.worker.rest.security.users import USERS_FILE, hashed
from tests.connectors.samples import MINIMAL_SINK
from tests.worker.rest.security.serving import Serve


def test_changes_are_events_with_their_user_and_refusals_are_in_the_log(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    users = tmp_path / "users.properties"
    users.write_text(f"ann={hashed('a')}\nrob={hashed('r')} reader\n")
    url, _ = serve({USERS_FILE: str(users)})
    ann, rob = (httpx.Client(base_url=url, auth=who, trust_env=False) for who in (("ann", "a"), ("rob", "r")))
    with ann, rob:
        created = ann.post("/connectors", json={"name": "c/1", "config": {**MINIMAL_SINK, "name": "c/1"}})
        assert created.status_code == 201
        assert ann.put("/connectors/c%2F1/pause").status_code == 202
        assert rob.put("/connectors/c%2F1/stop", headers={"frazil-forwarded-by": "w:1"}).status_code == 403
        assert ann.delete("/connectors/other").status_code == 404
        assert rob.get("/connectors").json() == ["c/1"]
        assert rob.put("/connector-plugins/IcebergSinkConnector/config/validate", json=MINIMAL_SINK).is_success
        assert httpx.put(f"{url}/connectors/c%2F1/stop", auth=("ann", "wrong"), trust_env=False).status_code == 401
        events = rob.get("/admin/events").json()
        assert rob.get("/admin/events?connector=c%2F1&limit=1").json() == [events[0]]
        assert rob.get("/admin/events?connector=other").json() == []
        assert rob.get("/admin/events?limit=0").status_code == 400
    assert [(each["kind"], each["message"], each["connector"], each["user"], each["client"]) for each in events] == [
        ("request", "PUT /connectors/c%2F1/pause: 202", "c/1", "ann", "127.0.0.1"),
        ("request", "POST /connectors: 201", "c/1", "ann", "127.0.0.1"),
    ]

    for user, said in (("ann", "DELETE /connectors/other: 404"), ("rob", "PUT /connectors/c%2F1/stop: 403")):
        assert f"refused to user '{user}' from 127.0.0.1: {said}" in caplog.text


def test_a_name_that_nobody_has_checked_is_not_told_as_a_user(serve: Serve) -> None:
    url, _ = serve({})
    path = "/admin/loggers/audited"
    assert httpx.put(f"{url}{path}", json={"level": "INFO"}, auth=("root", "any"), trust_env=False).is_success
    (event,) = httpx.get(f"{url}/admin/events", trust_env=False).json()
    assert (event["message"], event["user"]) == (f"PUT {path}: 200", "")
