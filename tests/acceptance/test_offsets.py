"""Moving and resetting positions over REST, and values from configuration providers, on a real worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from frazil.clients.kafka import offsets as kafka_offsets
from frazil.environment.settings import Settings
from frazil.stack.local import LocalStack
from tests.harness import Pipe, Worker, event, own_worker
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.spark

PACKAGE = "org.apache.kafka.common.config.provider."


class Rest:
    """Requests about one connector."""

    def __init__(self, worker: Worker, connector: str) -> None:
        self._url = f"{worker.settings.connect_url}/connectors/{connector}"

    def __call__(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return httpx.request(method, self._url + path, json=body, timeout=PATIENCE_S)

    def stop(self) -> None:
        assert self("PUT", "/stop").status_code == 204
        eventually(lambda: self("GET", "/status").json()["connector"]["state"] == "STOPPED")

    def resume(self) -> None:
        assert self("PUT", "/resume").status_code == 202

    def offsets(self) -> dict[int, int]:
        found = self("GET", "/offsets").json()["offsets"]
        return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in found}


def change(pipe: Pipe, offset: int | None) -> dict[str, Any]:
    partition = {"kafka_topic": pipe.name, "kafka_partition": 0}
    return {"offsets": [{"partition": partition, "offset": None if offset is None else {"kafka_offset": offset}}]}


@pytest.fixture
def lane(worker: Worker, request: pytest.FixtureRequest) -> Iterator[Pipe]:
    """A topic of one partition, so that offsets are ids."""
    made = Pipe(worker.settings, request.node.name).create(partitions=1)
    yield made
    if made.connector in worker.client.connectors():
        worker.client.delete(made.connector)


def test_a_reset_stores_the_rows_twice_and_a_move_forward_skips(worker: Worker, lane: Pipe) -> None:
    rest = Rest(worker, lane.connector)
    lane.send([event(n) for n in range(10)])
    worker.client.put_config(lane.connector, lane.config())
    eventually(lambda: lane.ids() == list(range(10)))
    for method, body in (("PATCH", change(lane, 0)), ("DELETE", None)):
        refused = rest(method, "/offsets", body)
        assert refused.status_code == 400
        assert refused.json()["message"].startswith("Connectors must be in the STOPPED state before")

    rest.stop()
    answer = rest("DELETE", "/offsets")
    assert answer.status_code == 200
    assert answer.json()["message"].startswith("The offsets for this connector have been reset successfully.")
    assert "rows may repeat" in answer.json()["message"]
    assert rest.offsets() == {}
    rest.resume()
    twice = sorted(2 * list(range(10)))
    eventually(lambda: lane.ids() == twice)
    eventually(lambda: rest.offsets() == {0: 10})

    rest.stop()
    lane.send([event(n) for n in range(10, 20)])
    assert rest("PATCH", "/offsets", change(lane, 15)).status_code == 200
    assert rest.offsets() == {0: 15}
    rest.resume()
    eventually(lambda: lane.ids() == twice + list(range(15, 20)))

    rest.stop()
    assert rest("PATCH", "/offsets", change(lane, 18)).status_code == 200
    rest.resume()
    eventually(lambda: lane.ids() == sorted([*twice, *range(15, 20), 18, 19]))
    assert worker.state(lane.connector) == "RUNNING"
    assert kafka_offsets.end_offsets(worker.settings.bootstrap_servers, [lane.name]) == {(lane.name, 0): 20}


@pytest.mark.faults
@pytest.mark.outage
def test_a_worker_that_is_killed_after_a_reset_reads_once_more(stack: LocalStack, tmp_path: Path) -> None:
    worker = own_worker(stack.settings, tmp_path)
    lane = Pipe(worker.settings, "killed_after_reset").create(partitions=1)
    with worker:
        rest = Rest(worker, lane.connector)
        lane.send([event(n) for n in range(10)])
        worker.client.put_config(lane.connector, lane.config())
        eventually(lambda: lane.ids() == list(range(10)))
        rest.stop()
        assert rest("PATCH", "/offsets", change(lane, 5)).status_code == 200
        rest.resume()
        worker.client.close()
        worker.kill()
        worker.start()
        expected = sorted([*range(10), *range(5, 10)])
        eventually(lambda: lane.ids() == expected)
        lane.send([event(10)])
        eventually(lambda: lane.ids() == [*expected, 10])


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    file = tmp_path / "catalog.properties"
    file.write_text("access=minioadmin\n")
    return file


@pytest.mark.outage
def test_values_of_providers_are_used_and_shown_nowhere(stack: LocalStack, tmp_path: Path, secrets: Path) -> None:
    secret = stack.settings.secret_key
    (tmp_path / "secret-key").write_text(secret)
    providers = {
        "CONNECT_CONFIG_PROVIDERS": "file,env,dir",
        "CONNECT_CONFIG_PROVIDERS_FILE_CLASS": PACKAGE + "FileConfigProvider",
        "CONNECT_CONFIG_PROVIDERS_FILE_PARAM_ALLOWED_PATHS": str(tmp_path),
        "CONNECT_CONFIG_PROVIDERS_ENV_CLASS": PACKAGE + "EnvVarConfigProvider",
        "CONNECT_CONFIG_PROVIDERS_DIR_CLASS": PACKAGE + "DirectoryConfigProvider",
        "TABLE_OF_THE_TEST": "acceptance.from_providers",
    }
    base = Settings({**stack.settings.env, **providers})
    with own_worker(base, tmp_path / "home") as worker:
        pipe = Pipe(worker.settings, "from_providers").create(partitions=1)
        placeholders = {
            "iceberg.tables": "${env:TABLE_OF_THE_TEST}",
            "iceberg.catalog.s3.access-key-id": f"${{file:{secrets}:access}}",
            "iceberg.catalog.s3.secret-access-key": f"${{dir:{tmp_path}:secret-key}}",
        }
        config = {**pipe.config(), **placeholders}
        pipe.send([event(1)])
        worker.client.put_config(pipe.connector, config)
        eventually(lambda: pipe.ids() == [1])
        rest = Rest(worker, pipe.connector)
        for path in ("", "/config", "/tasks"):
            assert "${dir:" in rest("GET", path).text
        assert worker.client.config(pipe.connector)["iceberg.tables"] == "${env:TABLE_OF_THE_TEST}"

        wrong = "wrong-secret-of-the-test"
        (tmp_path / "secret-key").write_text(wrong)
        worker.client.restart(pipe.connector)
        pipe.send([event(2)])
        eventually(lambda: worker.state(pipe.connector) == "FAILED")
        assert wrong not in rest("GET", "/status").text
        secrets.unlink()
        worker.client.restart(pipe.connector)
        reason = f"${{file:{secrets}:access}}: {secrets} cannot be read: No such file or directory"
        eventually(lambda: reason in rest("GET", "/status").text)
        assert worker.state(pipe.connector) == "FAILED"
        assert wrong not in worker.log()
        (tmp_path / "secret-key").write_text(secret)
        secrets.write_text("access=minioadmin\n")
        worker.client.restart(pipe.connector)
        eventually(lambda: pipe.ids() == [1, 2])


def test_levels_reach_the_loggers_of_the_jvm(worker: Worker, lane: Pipe) -> None:
    url = f"{worker.settings.connect_url}/admin/loggers/org.apache.spark.scheduler"
    worker.client.put_config(lane.connector, lane.config())
    assert " INFO DAGScheduler" not in worker.log()
    assert httpx.put(url, json={"level": "INFO"}).status_code == 200
    try:
        lane.send([event(1)])
        eventually(lambda: " INFO DAGScheduler" in worker.log())
    finally:
        assert httpx.put(f"{url}?scope=cluster", json={"level": "WARN"}).status_code == 204
    assert httpx.get(url).json()["level"] == "WARN"
