from __future__ import annotations

import json

import httpx
import psutil
import pytest

from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.registry import registry_service
from frazil.stack.service import Status
from tests.isolation import quiet

SCHEMA = {"type": "record", "name": "Reading", "fields": [{"name": "degrees", "type": "double"}]}


@pytest.mark.stack
def test_it_listens_on_loopback_with_bounded_memory(registry: Settings) -> None:
    state = registry_service(registry).state()
    assert state.status is Status.RUNNING
    process = psutil.Process(state.pid)
    listening = {c.laddr for c in process.net_connections(kind="tcp") if c.status == psutil.CONN_LISTEN}
    assert {address[0].removeprefix("::ffff:") for address in listening} == {LOOPBACK}
    assert registry.registry_port in {address[1] for address in listening}
    assert "-Xmx512m" in process.cmdline()


@pytest.mark.stack
def test_schemas_outlive_a_restart(registry: Settings) -> None:
    url, service = registry.registry_url, registry_service(registry)
    sent = httpx.post(f"{url}/subjects/restart-value/versions", json={"schema": json.dumps(SCHEMA)}, trust_env=False)
    number = sent.raise_for_status().json()["id"]
    assert service.stop()
    assert service.start(quiet) is True
    found = httpx.get(f"{url}/schemas/ids/{number}", trust_env=False).raise_for_status().json()
    assert json.loads(found["schema"]) == SCHEMA
