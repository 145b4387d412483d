"""Floors against a model of what a table has: whoever commits, fails, expires and rolls back in whatever order."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from frazil.connectors.iceberg.table import attempts
from frazil.connectors.iceberg.table.commit import Commit, Floor, TableBranch
from frazil.connectors.iceberg.table.transaction import append_files
from frazil.connectors.iceberg.table.write import DataFileWriter
from frazil.connectors.positions import KafkaIdentity
from frazil.errors import CommitConflict, Fenced
from frazil.pipeline import offsets
from frazil.pipeline.offsets import Offsets
from tests.connectors.iceberg.conftest import written
from tests.connectors.iceberg.driver import SIMPLE
from tests.connectors.iceberg.memory import MemoryCatalog

CONNECTORS = ("a", "b")
NAMES = st.sampled_from(CONNECTORS)
PARTITIONS = st.sampled_from([("t", 0), ("t", 1), ("u", 0)])
STEPS = st.dictionaries(PARTITIONS, st.integers(0, 3), max_size=3)
FAULTS = st.lists(st.sampled_from(["refused", "lost before", "lost after"]), max_size=3)
IDENTITY = KafkaIdentity("c", {"t": "1", "u": "2"})


@dataclass
class Known:
    """What the model knows of one connector: what the head has, where it began, and its last position."""

    has: Offsets | None = None
    begin: Offsets = field(default_factory=dict)
    copy: Offsets | None = None

    @property
    def floor(self) -> Offsets:
        return self.begin if self.has is None else self.has


class Floors(RuleBasedStateMachine):
    """`kept[snapshot]` is what each connector had by that snapshot, for those that may be rolled back to."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._catalog = MemoryCatalog(Path(self._folder.name), {"ns.t": SIMPLE})
        self._target = TableBranch(self._catalog, "ns.t", MAIN_BRANCH)
        self._known = {name: Known() for name in CONNECTORS}
        self._kept: dict[int, dict[str, Offsets | None]] = {}
        self._stale: dict[str, tuple[Table, Floor]] = {}

    def teardown(self) -> None:
        self._folder.cleanup()

    def _commit(self, name: str, table: Table, floor: Floor, steps: Offsets) -> None:
        begin = {key: floor.offsets.get(key, 5) for key in steps}
        end = {key: begin[key] + step for key, step in steps.items()}
        self._target.commit(table, floor, Commit(name, [], begin, end, IDENTITY, None))
        known = self._known[name]
        known.has = known.copy = offsets.merge(floor.offsets, end)
        known.begin = {**begin, **known.begin}
        self._keep()

    def _keep(self) -> None:
        head = self._target.load().current_snapshot()
        assert head is not None
        self._kept[head.snapshot_id] = {name: known.has for name, known in self._known.items()}

    @rule(name=NAMES, steps=STEPS, faults=FAULTS)
    def a_batch(self, name: str, steps: Offsets, faults: list[str]) -> None:
        """Answers that are lost, or a head that has moved, change nothing of the outcome."""
        self._catalog.faults = faults
        table = self._target.load()
        snapshots = len(table.metadata.snapshots)
        self._commit(name, table, self._target.floor(table, name), steps)
        self._catalog.faults = []
        assert len(self._target.load().metadata.snapshots) == snapshots + 1

    @rule(name=NAMES, steps=STEPS)
    def a_batch_while_others_commit(self, name: str, steps: Offsets) -> None:
        table = self._target.load()
        self._catalog.meanwhile = self.foreign_commit
        self._commit(name, table, self._target.floor(table, name), steps)

    @rule(name=NAMES)
    def a_worker_falls_asleep(self, name: str) -> None:
        table = self._target.load()
        self._stale[name] = table, self._target.floor(table, name)

    @rule(name=NAMES, steps=STEPS)
    def a_worker_wakes_up(self, name: str, steps: Offsets) -> None:
        """It stores its batch only if nobody has stored anything for the connector meanwhile."""
        table, floor = self._stale.pop(name, (None, Floor()))
        if table is None:
            return
        if floor.offsets == self._known[name].floor:
            self._commit(name, table, floor, steps)
            return
        before = self._target.load().metadata
        error = CommitConflict if self._target.floor(self._target.load(), name).rolled_back else Fenced
        with pytest.raises(error):
            self._commit(name, table, floor, steps)
        assert self._target.load().metadata == before

    @rule(name=NAMES, to=st.dictionaries(PARTITIONS, st.integers(0, 9), max_size=3))
    def a_user_moves_the_position(self, name: str, to: Offsets) -> None:
        table = self._target.load()
        batch = Commit(name, [], {}, to, IDENTITY, None, altered=True)
        self._target.commit(table, self._target.floor(table, name), batch)
        known = self._known[name]
        known.begin = {key: min(offset, to[key]) for key, offset in known.begin.items() if key in to}
        known.has = known.copy = to
        self._keep()

    @rule()
    def foreign_commit(self) -> None:
        table = self._target.load()
        transaction = table.transaction()
        append_files(transaction.update_snapshot(), table, [])
        transaction.commit_transaction()
        self._keep()

    @precondition(lambda self: all(known.has == known.copy for known in self._known.values()))
    @rule()
    def all_but_the_head_expire(self) -> None:
        """As `frazil maintain` does it: what only a snapshot knows after a rollback is kept."""
        table = self._target.load()
        head = table.current_snapshot()
        if head is None:
            return
        for snapshot in table.metadata.snapshots:
            if snapshot.snapshot_id != head.snapshot_id:
                table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
        self._kept = {head.snapshot_id: self._kept[head.snapshot_id]}

    @precondition(lambda self: self._kept)
    @rule(data=st.data())
    def a_rollback(self, data: st.DataObject) -> None:
        chosen = list(self._kept)[data.draw(st.integers(0, len(self._kept) - 1))]
        self._target.load().manage_snapshots().set_current_snapshot(snapshot_id=chosen).commit()
        for name, has in self._kept[chosen].items():
            self._known[name].has = has

    @invariant()
    def floors_are_what_the_table_has(self) -> None:
        table = self._target.load()
        found = {name: self._target.floor(table, name).offsets for name in CONNECTORS}
        expected = {name: known.floor for name, known in self._known.items()}
        assert found == expected, (found, expected)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(attempts, "_LONGEST_WAIT_S", 0.0)


def test_floors_are_what_the_table_has() -> None:
    run_state_machine_as_test(Floors, settings=settings(stateful_step_count=20))


def without_parents(catalog: MemoryCatalog, *gone: int) -> None:
    """Expire snapshots as some catalogs do it: those that are left have no parents."""
    table = catalog.load_table("ns.t")
    kept = [
        snapshot.model_copy(update={"parent_snapshot_id": None})
        for snapshot in table.metadata.snapshots
        if snapshot.snapshot_id not in gone
    ]
    log = [entry for entry in table.metadata.snapshot_log if entry.snapshot_id not in gone]
    catalog.replace_metadata("ns.t", table.metadata.model_copy(update={"snapshots": kept, "snapshot_log": log}))


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_position_survives_a_catalog_that_forgets_parents(tmp_path: Path, version: str) -> None:
    catalog = MemoryCatalog(tmp_path, {})
    table = catalog.create_table("ns.t", SIMPLE, properties={"format-version": version})
    target = TableBranch(catalog, "ns.t", MAIN_BRANCH)
    files = written(DataFileWriter(table.metadata.model_dump_json(), ()), pa.table({"id": [1], "text": ["x"]}))
    target.commit(table, Floor(), Commit("a", files, {("t", 0): 0}, {("t", 0): 1}, IDENTITY, None))
    first = target.load().current_snapshot()
    assert first is not None
    target.load().append(pa.table({"id": [2], "text": ["y"]}))
    without_parents(catalog, first.snapshot_id)
    assert target.floor(target.load(), "a").offsets == {("t", 0): 1}


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_table_that_was_rolled_back_to_its_first_snapshot_begins_anew(tmp_path: Path, version: str) -> None:
    catalog = MemoryCatalog(tmp_path, {})
    table = catalog.create_table("ns.t", SIMPLE, properties={"format-version": version})
    table.append(pa.table({"id": [2], "text": ["y"]}))
    target = TableBranch(catalog, "ns.t", MAIN_BRANCH)
    first, table = target.load().current_snapshot(), target.load()
    assert first is not None
    files = written(DataFileWriter(table.metadata.model_dump_json(), ()), pa.table({"id": [1], "text": ["x"]}))
    target.commit(table, Floor(), Commit("a", files, {("t", 0): 0}, {("t", 0): 1}, IDENTITY, None))
    head = target.load().current_snapshot()
    assert head is not None
    target.load().manage_snapshots().set_current_snapshot(snapshot_id=first.snapshot_id).commit()
    without_parents(catalog, head.snapshot_id)
    assert target.floor(target.load(), "a").offsets == {("t", 0): 0}
