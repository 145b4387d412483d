"""The worker is killed at chosen points around its commits: every record is stored once.

A proxy keeps the connector's request to the catalog, or the answer to it, while the worker is killed: so the kill hits
between the writing of files and their commit, after a commit that nobody has told the worker of, or between the commits
of two tables of one batch.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from frazil.environment.settings import Settings
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.proxy import CatalogProxy, Fault
from tests.harness import EVENTS, EVENTS_SPEC, Pipe, Worker, event, messages, own_worker
from tests.waits import PATIENCE_S, eventually

pytestmark = [pytest.mark.spark, pytest.mark.outage]

ROWS = Schema(
    NestedField(1, "id", LongType(), required=True), NestedField(2, "value", StringType()), identifier_field_ids=[1]
)
TOLERANT = {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}
BRANCH = {"iceberg.tables.default-commit-branch": "audit"}
CREATED = {"iceberg.tables.auto-create-enabled": "true"}
CHANGES = {"iceberg.tables.cdc-field": "op", "iceberg.tables.evolve-schema-enabled": "false"}
FOREIGN = -1
TWO = ("", "_too")
BEFORE, KILLED_WITH, AFTERWARDS = range(30), range(30, 60), range(60, 90)


def change(number: int) -> bytes:
    """Of three changes of a key, in three batches, the last one counts; each seventh key is deleted by it."""
    key, round_ = number % 30, number // 30
    return json.dumps({"id": key, "value": f"{number}", "op": "d" if round_ == 2 and not key % 7 else "u"}).encode()


def _ids(pipe: Pipe, table: str, branch: str = "main") -> list[int]:
    found = pipe.catalog().load_table(table)
    snapshot = found.metadata.snapshot_by_name(branch)
    if snapshot is None:
        return []
    scan = found.scan(snapshot_id=snapshot.snapshot_id, selected_fields=("id",))
    return sorted(scan.to_arrow()["id"].to_pylist())


def _stored_once(pipe: Pipe, table: str, numbers: list[int]) -> None:
    assert _ids(pipe, table) == numbers


@dataclass(frozen=True)
class Point:
    """Where the worker is killed, what it stores then, and what has to be there in the end.

    `faults` are for the requests of one batch, which `setting_up` others precede in the first batch of a connector.
    `stored`: whether the batch is in the table when the worker is killed. `tables` are the suffixes of their names.
    """

    faults: Sequence[Fault]
    keys: Mapping[str, str] = field(default_factory=dict)
    setting_up: int = 0
    stored: bool = False
    tables: Sequence[str] = ("",)
    record: Callable[[int], bytes] = event
    check: Callable[[Pipe, str, list[int]], None] = _stored_once
    prepare: Callable[[Pipe], None] = lambda pipe: None
    schema: Schema = EVENTS
    spec: PartitionSpec = EVENTS_SPEC


def _foreign_rows(pipe: Pipe) -> None:
    pipe.table().append(pa.Table.from_pylist([{"id": FOREIGN, "time": 0}], schema=EVENTS.as_arrow()))


def _on_the_branch(pipe: Pipe, table: str, numbers: list[int]) -> None:
    assert _ids(pipe, table, "audit") == [FOREIGN, *numbers]
    assert _ids(pipe, table) == [FOREIGN]


def _good_or_bad(number: int) -> bytes:
    return event(number) if number % 10 else b"bad %d" % number


def _each_letter_once(pipe: Pipe, table: str, numbers: list[int]) -> None:
    _stored_once(pipe, table, [n for n in numbers if n % 10])
    letters = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
    assert sorted(m.value() for m in letters) == sorted(b"bad %d" % n for n in numbers if not n % 10)


def _with_a_new_field(number: int) -> bytes:
    return event(number, **{f"new_{number // 30}": number})


def _new_fields_stored(pipe: Pipe, table: str, numbers: list[int]) -> None:
    _stored_once(pipe, table, numbers)
    assert all(row[f"new_{row['id'] // 30}"] == row["id"] for row in pipe.rows())


def _drop(pipe: Pipe) -> None:
    pipe.catalog().drop_table(pipe.table_name)


def _second_table(pipe: Pipe) -> None:
    pipe.catalog().create_table(f"{pipe.table_name}{TWO[1]}", pipe.schema, partition_spec=pipe.spec)


def _by_bucket(pipe: Pipe, table: str, numbers: list[int]) -> None:
    assert _ids(pipe, table) == [n for n in numbers if n % 3 == table.endswith(TWO[1])]


def _last_changes(pipe: Pipe, table: str, numbers: list[int]) -> None:
    expected = {n % 30: f"{n}" for n in numbers}
    for key in [n % 30 for n in numbers if b'"d"' in change(n)]:
        del expected[key]
    rows = pipe.rows()
    assert {row["id"]: row["value"] for row in rows} == expected
    assert len(rows) == len(expected)


def _merge_mode(mode: str) -> Callable[[Pipe], None]:
    def prepare(pipe: Pipe) -> None:
        pipe.table().transaction().set_properties({"write.merge.mode": mode}).commit_transaction()

    return prepare


def _changes(mode: str, *, stored: bool) -> Point:
    faults: list[Fault] = ["hold after" if stored else "hold before"]
    prepare = _merge_mode(mode)
    return Point(faults, CHANGES, 0, stored, ("",), change, _last_changes, prepare, ROWS, PartitionSpec())


ROUTES = {
    "iceberg.tables.route-field": "bucket",
    "iceberg.table.acceptance.{name}.route-regex": "bucket-0",
    "iceberg.table.acceptance.{name}_too.route-regex": "bucket-1",
}
POINTS = {
    "before": Point(["hold before"]),
    "after": Point(["hold after"], stored=True),
    "branch": Point(["hold after"], BRANCH, 1, True, check=_on_the_branch, prepare=_foreign_rows),
    "between": Point(["pass", "hold before"], tables=TWO, prepare=_second_table),
    "letters": Point(["hold before"], TOLERANT, record=_good_or_bad, check=_each_letter_once),
    "columns": Point(["pass", "hold before"], record=_with_a_new_field, check=_new_fields_stored),
    "new_columns": Point(["hold after"], record=_with_a_new_field, check=_new_fields_stored),
    "new_table": Point(["hold after"], CREATED, stored=True, prepare=_drop),
    "routed": Point(["pass", "hold before"], ROUTES, tables=TWO, prepare=_second_table, check=_by_bucket),
    "rewritten": _changes("copy-on-write", stored=False),
    "rewritten_after": _changes("copy-on-write", stored=True),
    "marked": _changes("merge-on-read", stored=False),
    "marked_after": _changes("merge-on-read", stored=True),
}


class Victim:
    """One connector that is at its point when the worker is killed."""

    def __init__(self, name: str, point: Point, settings: Settings) -> None:
        self.point = point
        self.pipe = Pipe(settings, name, point.schema, point.spec).create(partitions=1)
        point.prepare(self.pipe)
        self.tables = [self.pipe.table_name + suffix for suffix in point.tables]
        self.proxy = CatalogProxy(settings.catalog_uri)

    def config(self) -> dict[str, str]:
        own = {key.replace("{name}", self.pipe.name): value for key, value in self.point.keys.items()}
        tables = {"iceberg.tables": ",".join(self.tables), "iceberg.catalog.uri": self.proxy.uri}
        return self.pipe.config() | tables | own

    def send(self, numbers: Sequence[int]) -> None:
        self.pipe.send(self.point.record(n) for n in numbers)

    def snapshots(self) -> int:
        catalog = self.pipe.catalog()
        return sum(len(catalog.load_table(name).metadata.snapshots) for name in self.tables)

    def check(self, numbers: Sequence[int]) -> None:
        for table in self.tables:
            self.point.check(self.pipe, table, list(numbers))


def _put(worker: Worker, victim: Victim, verb: str, state: str) -> None:
    url = f"{worker.settings.connect_url}/connectors/{victim.pipe.connector}/{verb}"
    httpx.put(url, timeout=PATIENCE_S).raise_for_status()
    eventually(lambda: worker.state(victim.pipe.connector) == state)


def killed_there(stack: LocalStack, home: Path, names: Sequence[str], prefix: str, *, first: bool) -> None:
    """Each of the connectors is at its point when the worker is killed, in its first batch or in a later one.

    Topics and tables, which have to be new, have names with this prefix. All of them run at once, so each waits for the
    others.
    """
    worker = own_worker(stack.settings, home)
    victims = [Victim(f"{prefix}_killed_{name}", POINTS[name], stack.settings) for name in names]
    with ExitStack() as proxies, worker:
        for victim in victims:
            proxies.enter_context(victim.proxy.running())
        numbers = [*KILLED_WITH] if first else [*BEFORE, *KILLED_WITH]
        if not first:
            for victim in victims:
                victim.send(BEFORE)
                worker.client.put_config(victim.pipe.connector, victim.config())
            for victim in victims:
                eventually(lambda victim=victim: victim.pipe.lag() == 0)  # type: ignore[misc]
                _put(worker, victim, "pause", "PAUSED")
        for victim in victims:
            victim.proxy.faults = [*["pass"] * (victim.point.setting_up if first else 0), *victim.point.faults]  # type: ignore[list-item]
            victim.send(KILLED_WITH)
            if first:
                worker.client.put_config(victim.pipe.connector, victim.config())
            else:
                _put(worker, victim, "resume", "RUNNING")
        for victim in victims:
            assert victim.proxy.held.wait(PATIENCE_S), f"{victim.pipe.name} did not come to its point"
        worker.client.close()
        worker.kill()
        at_kill = {victim.pipe.name: victim.snapshots() for victim in victims}
        for victim in victims:
            victim.proxy.let_go()

        worker.start()
        for victim in victims:
            eventually(lambda victim=victim: worker.state(victim.pipe.connector) == "RUNNING")  # type: ignore[misc]
            eventually(lambda victim=victim: victim.pipe.lag() == 0)  # type: ignore[misc]
        for victim in victims:
            assert victim.snapshots() == at_kill[victim.pipe.name] + (not victim.point.stored), victim.pipe.name
            victim.check(numbers)
            victim.send(AFTERWARDS)
        for victim in victims:
            eventually(lambda victim=victim: victim.pipe.lag() == 0)  # type: ignore[misc]
            victim.check([*numbers, *AFTERWARDS])


def test_killed_around_commits(stack: LocalStack, tmp_path: Path) -> None:
    killed_there(stack, tmp_path, ["before", "after", "branch", "between", "marked"], "some", first=True)


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", [True, False], ids=["first batch", "later batch"])
def test_killed_at_every_point(stack: LocalStack, tmp_path: Path, first: bool) -> None:
    killed_there(stack, tmp_path, list(POINTS), "first" if first else "later", first=first)


class Late(CatalogProxy):
    """The catalog gets the first commit only when the second has come."""

    def __init__(self, catalog_uri: str) -> None:
        super().__init__(catalog_uri)
        self.faults = ["close after"]
        self.kept, self.second, self.applied = threading.Event(), threading.Event(), threading.Event()

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        is_commit = handler.command == "POST" and b'"updates"' in body
        is_first = is_commit and not self.kept.is_set()
        if is_first:
            self.kept.set()
            assert self.second.wait(PATIENCE_S), "nobody has committed after the worker was killed"
        elif is_commit and not self.applied.is_set():
            self.second.set()
            assert self.applied.wait(PATIENCE_S)
        super().answer(handler, body)
        if is_first:
            self.applied.set()


@pytest.mark.faults
def test_a_commit_that_is_applied_after_the_kill_is_the_workers_own(stack: LocalStack, tmp_path: Path) -> None:
    """The next run has read the table before, and knows whose commit it was."""
    worker, late = own_worker(stack.settings, tmp_path), Late(stack.settings.catalog_uri)
    pipe = Pipe(stack.settings, "late_commit").create(partitions=1)
    with late.running(), worker:
        pipe.send([event(n) for n in range(30)])
        worker.client.put_config(pipe.connector, pipe.config() | {"iceberg.catalog.uri": late.uri})
        assert late.kept.wait(PATIENCE_S)
        worker.client.close()
        worker.kill()

        worker.start()
        assert late.applied.wait(PATIENCE_S)
        pipe.send([event(n) for n in range(30, 60)])
        eventually(lambda: pipe.lag() == 0)
        assert pipe.ids() == list(range(60))
        assert "only now applied an earlier commit of this worker" in worker.log()
        assert worker.state(pipe.connector) == "RUNNING"
