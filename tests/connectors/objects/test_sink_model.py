"""Object sinks against a model, and against one that nothing disturbs: whatever fails, the objects are the same."""

from __future__ import annotations

import json
import tempfile
import threading
from dataclasses import dataclass, field
from typing import IO

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from frazil.errors import FrazilError, ServiceUnavailable, StoreUnavailable
from tests.connectors.broker import Broker, Killed
from tests.connectors.objects.driver import Driver, MemoryCluster
from tests.connectors.objects.samples import BY_TIME, STORAGE, FolderStore

COMMON = {
    "errors.tolerance": "all",
    "behavior.on.null.values": "ignore",
    "errors.deadletterqueue.context.headers.enable": "true",
}
BY_FIELD = {"partitioner.class": STORAGE + "FieldPartitioner", "partition.field.name": "kind", "flush.size": "2"}
MODES = {
    "count": {"flush.size": "3"},
    "time": {**BY_TIME, "flush.size": "4", "rotate.interval.ms": "2000"},
    "field": BY_FIELD,
    "bytes": {"flush.size": "100", "frazil.rotate.bytes": "60"},
}
KINDS = st.sampled_from(["a", "a", "b", "json", "tombstone"])
FAULTS = st.lists(st.sampled_from(["none", "none", "none", "before", "after", "killed"]), max_size=4)


@dataclass(frozen=True)
class FaultyStore(FolderStore):
    """`faults` are what happens to the next objects; one that is stored again is as it was."""

    faults: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        with self.lock:
            fault = self.faults.pop(0) if self.faults else "none"
            if fault == "before":
                raise StoreUnavailable("by the test")
            before = self.get(name)
            super().put(name, body, size, tags)
            assert before in (None, self.get(name)), f"{name} has changed"
        if fault == "after":
            raise StoreUnavailable("by the test")
        if fault == "killed":
            raise Killed


class Objects(RuleBasedStateMachine):
    """`good` are the offsets of the records that belong into objects, by partition."""

    mode = "count"

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._patched = pytest.MonkeyPatch()
        self._broker = Broker().install(self._patched)
        self._broker.make("t", 2)
        self._store = FaultyStore(self._folder.name + "/disturbed")
        self._driver = self._made(self._store, "9")
        self._good: dict[int, list[int]] = {0: [], 1: []}
        self._bad: set[tuple[str, int, int, str]] = set()
        self._number = self._time = 0

    def _made(self, store: FolderStore, most: str) -> Driver:
        changes = {**COMMON, **MODES[self.mode], "frazil.batch.max.records": most}
        return Driver(MemoryCluster(self._broker), "t", store, **changes)

    @rule(partition=st.integers(0, 1), kinds=st.lists(KINDS, min_size=1, max_size=8), pause=st.integers(0, 1500))
    def records_come(self, partition: int, kinds: list[str], pause: int) -> None:
        for kind in kinds:
            self._number += 1
            self._time += pause
            offset = self._broker.ends("t")["t", partition]
            value = json.dumps({"n": self._number, "kind": kind}).encode()
            value_of = {"json": b"{", "tombstone": None}
            self._broker.send("t", [value_of.get(kind, value)], partition, stamp=self._time)
            if kind == "json":
                self._bad.add(("t", partition, offset, ""))
            elif kind != "tombstone":
                self._good[partition].append(offset)

    @rule(
        puts=FAULTS,
        letters=st.lists(st.sampled_from(["none", "refused", "lost", "killed"]), max_size=2),
        group=st.lists(st.sampled_from([None, ServiceUnavailable("by the test"), Killed()]), max_size=2),
    )
    def a_run(self, puts: list[str], letters: list[str], group: list[BaseException | None]) -> None:
        self._store.faults[:], self._broker.produce_faults = puts, list(letters)
        self._broker.faults["set_group_offsets"] = list(group)
        try:
            self._driver.process(60_000)
        except (FrazilError, Killed):
            self.a_worker_is_killed()

    @rule()
    def a_worker_is_killed(self) -> None:
        self._store.faults[:], self._broker.produce_faults, self._broker.faults = [], [], {}
        self._driver.context.breakers.remove("t")
        self._driver.restart()

    @rule()
    def kafka_forgets_the_group(self) -> None:
        self._broker.groups.clear()
        self.a_worker_is_killed()

    def teardown(self) -> None:
        try:
            self.a_worker_is_killed()
            self._check()
        finally:
            self._patched.undo()
            self._folder.cleanup()

    def _check(self) -> None:
        self._finish(self._driver)
        found = self._store.objects()
        stored = [json.loads(line)["n"] for data in found.values() for line in data.splitlines()]
        assert len(stored) == len(set(stored)), "a record is stored twice"
        position = self._driver.sink.position
        for partition, good in self._good.items():
            below = [offset for offset in good if offset < position["t", partition]]
            numbers = [json.loads(self._broker.records("t", partition, o, o + 1)[0].value() or b"")["n"] for o in below]
            assert set(numbers) <= set(stored), "a record below the position is not stored"
            if self.mode == "count":
                assert len(below) == len(good) // 3 * 3
        letters = self._broker.letters("t-dlq")
        assert letters.keys() <= self._bad
        assert all(len(places) == 1 for places in letters.values()), "a dead letter is written twice"
        assert {place for place in self._bad if place[2] < position["t", place[1]]} <= letters.keys()
        for report in self._driver.reports:
            assert report.read == report.stored + report.dead_letters + report.skipped
        self._broker.groups.clear()
        undisturbed = FolderStore(self._folder.name + "/undisturbed")
        self._finish(self._made(undisturbed, "1000000"))
        assert undisturbed.objects() == found

    def _finish(self, driver: Driver) -> None:
        """Run until there is nothing more that may be complete."""
        idle = 0
        while idle < 5:
            idle = 0 if driver.process(60_000) and driver.moved() else idle + 1


@pytest.mark.parametrize("mode", MODES)
def test_the_objects_are_the_same_whatever_fails(mode: str) -> None:
    machine = type(f"Objects_{mode}", (Objects,), {"mode": mode})
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=12))
