"""YAML topics in a worker: JSON Lines, Delta tables, schemas that change, and what `verify` says of all of it."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from frazil.clients.credentials import with_store_access
from frazil.clients.kafka import groups as kafka_groups
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.connectors.objects.delta.table import Place
from frazil.connectors.topics.topic_connectors import topic_connectors
from frazil.environment.settings import Settings
from frazil.stack.local import LocalStack
from tests.acceptance.objects import BUCKET, ObjectPipe
from tests.acceptance.verified import verified
from tests.harness import Worker, messages, own_worker
from tests.waits import eventually

pytestmark = pytest.mark.spark

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
ENTRY = """\
connector:
  topics:
    {name}:
      topic-name: {name}
      schema-file: schema.json
      destination:
        bucket: {bucket}
        prefix: yaml/{name}
        partition-columns: [kind, year]
        {more}
      processing: {{batch-size: {size}, flush-interval: 1}}
"""


class Topic:
    """A topic, the file with its entry, and its connector."""

    def __init__(self, settings: Settings, folder: Path, name: str, more: str = "", size: int = 10) -> None:
        self.settings = settings
        self.pipe = ObjectPipe(settings, name).create()
        self.schema = folder / "schema.json"
        self.schema.write_text(json.dumps(SCHEMA))
        self.file = folder / f"{name}.yaml"
        self.file.write_text(ENTRY.format(name=name, bucket=BUCKET, more=more, size=size))
        self.config = topic_connectors(self.file, settings)[name]
        self.prefix = f"yaml/{name}/"

    def objects(self) -> dict[str, bytes]:
        store = self.pipe.store()
        pages = store.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=self.prefix)
        found = [each["Key"] for page in pages for each in page.get("Contents", ())]
        names = [name for name in found if "/_schemas/" not in name and "/_topics/" not in name]
        return {
            name.removeprefix(self.prefix): store.get_object(Bucket=BUCKET, Key=name)["Body"].read() for name in names
        }

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for data in self.objects().values() for line in data.splitlines()]

    def table(self) -> DeltaTable:
        store = with_store_access(object_sink_config(self.config).store, self.settings)
        place = Place(store, self.prefix.rstrip("/"))
        return DeltaTable(place.uri, storage_options=place.options())

    def lag(self) -> int:
        return sum(
            kafka_groups.lag(self.settings.bootstrap_servers, [self.pipe.name], f"connect-{self.pipe.name}").values()
        )


@pytest.fixture
def topic(worker: Worker, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Topic]:
    made = Topic(worker.settings, tmp_path, request.node.name.replace("_", "-"))
    worker.client.put_config(made.pipe.name, made.config)
    yield made
    worker.client.delete(made.pipe.name)


def record(number: int, **more: object) -> bytes:
    return json.dumps({"n": number, "kind": "ab"[number % 2], **more}).encode()


def test_json_lines_dead_letters_and_a_schema_that_changes(worker: Worker, topic: Topic) -> None:
    year = time.gmtime().tm_year
    topic.pipe.send([record(n) for n in range(12)] + [b'{"n":"x"}', b"{"], partition=0)
    eventually(lambda: len(topic.lines()) == 12 and topic.lag() == 0)
    assert {name.rpartition("/")[0] for name in topic.objects()} == {f"kind=a/year={year}", f"kind=b/year={year}"}
    letters = messages(topic.settings.bootstrap_servers, f"{topic.pipe.name}-dlq")
    reasons = [dict(letter.headers())["__connect.errors.exception.message"].decode() for letter in letters]
    assert 'column n: not valid by the schema: "x" is not of type "integer"' in reasons[0]
    topic.schema.write_text(json.dumps({**SCHEMA, "properties": {"n": {"type": ["integer", "string"]}}}))
    eventually(lambda: "has changed and is used now" in worker.log())
    topic.pipe.send([b'{"n":"now"}'], partition=1)
    eventually(lambda: {"n": "now"} in topic.lines())
    topic.schema.write_text(json.dumps({**SCHEMA, "required": ["n", "kind"]}))
    eventually(lambda: "breaks the rule BACKWARD" in worker.log())
    code, checks = verified(topic.settings, topic.pipe.name)
    assert (code, [(one["read"], one["stored"], one["dead"]) for one in checks]) == (0, [(14, 12, 2), (1, 1, 0)])
    name = next(iter(topic.objects()))
    topic.pipe.store().delete_object(Bucket=BUCKET, Key=topic.prefix + name)
    code, checks = verified(topic.settings, topic.pipe.name)
    assert code == 1
    assert sum(len(one["missing"]) for one in checks) == 13 - len(topic.lines())


@pytest.fixture
def delta(worker: Worker, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Topic]:
    name = request.node.name.replace("_", "-")
    made = Topic(worker.settings, tmp_path, name, "delta-config: {optimize-interval: 3}")
    worker.client.put_config(name, made.config)
    yield made
    worker.client.delete(name)


def test_a_delta_table_gets_columns_and_all_records_once(worker: Worker, delta: Topic) -> None:
    delta.pipe.send([record(n) for n in range(25)], partition=0)
    eventually(lambda: delta.lag() == 0)
    delta.pipe.send([record(n, more={"x": n}) for n in range(25, 40)] + [b'{"n":"no"}'], partition=1)
    eventually(lambda: delta.lag() == 0)
    rows = delta.table().to_pyarrow_table().to_pylist()
    assert sorted(row["n"] for row in rows) == list(range(40))
    assert {(row["kind"], row["year"]) for row in rows} == {(kind, time.gmtime().tm_year) for kind in "ab"}
    assert [row["more"] for row in rows if row["n"] == 30] == [{"x": 30}]
    versions = [delta.table().transaction_version(f"frazil/{delta.pipe.name}/{delta.pipe.name}/{n}") for n in (0, 1)]
    assert versions == [25, 16]
    code, checks = verified(delta.settings, delta.pipe.name)
    assert (code, [(one["stored"], one["dead"]) for one in checks]) == (0, [(25, 0), (15, 1)])
    assert worker.state(delta.pipe.name) == "RUNNING"


def _killed(stack: LocalStack, folder: Path, kills: int) -> None:
    """Kill a worker that has a topics file while it writes JSON Lines and a Delta table."""
    name = "yaml-killed"
    plain = Topic(stack.settings, folder, name, size=500)
    delta = Topic(stack.settings, folder, f"{name}-delta", "delta-config:", size=500)
    both = plain.file.read_text() + delta.file.read_text().split("topics:\n")[1]
    (folder / "both.yaml").write_text(both)
    worker = own_worker(stack.settings, folder / "home", FRAZIL_TOPICS_FILE=str(folder / "both.yaml"))
    rng = random.Random(3)
    for kill in range(kills):
        worker.start()
        for topic in (plain, delta):
            for part in (0, 1):
                topic.pipe.send([record(2000 * kill + n) for n in range(2000)], partition=part)
        time.sleep(rng.uniform(0, 5))
        worker.client.close()
        worker.kill()
    with worker:
        eventually(lambda: plain.lag() == delta.lag() == 0)
        wanted = sorted(2 * list(range(2000 * kills)))
        assert sorted(row["n"] for row in plain.lines()) == wanted
        assert sorted(delta.table().to_pyarrow_table()["n"].to_pylist()) == wanted
        assert worker.client.connectors() == [name, f"{name}-delta"]


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_five_kills_of_a_worker_with_a_topics_file(stack: LocalStack, tmp_path: Path) -> None:
    _killed(stack, tmp_path, 5)
