"""One table of a running connector: who else has changed it, how it is made, rows that change."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.iceberg.sink_table import before, count, cut, divide
from frazil.connectors.iceberg.table.transaction import append_files
from frazil.errors import (
    CommitConflict,
    ConfigError,
    Fenced,
    NotFound,
)
from frazil.pipeline import bookings
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.letters.letter import read_letter
from frazil.pipeline.offsets import Offsets
from tests.connectors.iceberg.driver import (
    CHANGES,
    CREATE,
    EVOLVE,
    TABLE,
    TOLERANT,
    Driver,
    Memory,
    record,
)


def test_another_worker_that_has_committed_meanwhile_fences_this_one(one: Memory) -> None:
    broker, catalog = one
    first, second = Driver(broker, catalog, {}), Driver(broker, catalog, {})
    second.runs = ("elsewhere",)
    second.restart()
    broker.send("t", [record(1)])
    catalog.meanwhile = second.drain
    with pytest.raises(Fenced, match="another worker has committed"):
        first.step()
    assert (first.column(TABLE), first.reports, len(second.reports)) == ([1], [], 1)


def test_a_late_commit_of_the_same_worker_is_no_other_worker(one: Memory) -> None:
    broker, catalog = one
    first = Driver(broker, catalog, {})
    second = Driver(broker, catalog, {})
    second.runs = first.runs
    second.restart()
    broker.send("t", [record(1)])
    catalog.meanwhile = first.drain
    with pytest.raises(CommitConflict, match="an earlier commit of this worker"):
        second.step()
    assert second.column(TABLE) == [1]


def test_a_rollback_while_the_connector_runs_ends_it_and_the_next_start_stores_what_was_lost(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    for number in (1, 2):
        broker.send("t", [record(number)])
        driver.step()
    table = catalog.load_table(TABLE)
    table.manage_snapshots().set_current_snapshot(snapshot_id=table.snapshots()[0].snapshot_id).commit()
    broker.send("t", [record(3)])
    with pytest.raises(CommitConflict, match=r"was rolled back: it has t-0 up to offset 1, and 2 was read"):
        driver.step()
    driver.restart()
    assert driver.task.position == {("t", 0): 1}
    driver.drain()
    assert driver.column(TABLE) == [1, 2, 3]


def test_the_commits_of_kafka_connects_sink_while_this_one_runs_fence_it(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {})
    broker.send("t", [record(1)])
    driver.step()
    table = catalog.load_table(TABLE)
    transaction = table.transaction()
    mark = {driver.config.connect_sink.properties[0]: '{"0":7}'}
    append_files(transaction.update_snapshot(snapshot_properties=mark), table, [])
    transaction.commit_transaction()
    broker.send("t", [record(2)])
    with pytest.raises(Fenced, match="Kafka Connect's sink has committed to"):
        driver.step()
    assert driver.column(TABLE) == [1]


def test_a_missing_table_is_an_error_unless_it_may_be_made(none: Memory) -> None:
    broker, catalog = none
    with pytest.raises(NotFound, match="does not exist; create it"):
        Driver(broker, catalog, {})
    driver = Driver(broker, catalog, CREATE)
    broker.send("t", [record(1, text="x"), record(2, size=1.5)])
    driver.drain()
    assert driver.rows(TABLE) == [{"id": 1, "text": "x", "size": None}, {"id": 2, "text": None, "size": 1.5}]


def test_records_that_show_no_column_for_a_new_table_are_dead_letters(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**CREATE, **TOLERANT})
    broker.send("t", [b"{}"])
    driver.drain()
    assert list(broker.letters("t-dlq")) == [("t", 0, 0, "")]
    assert "Unable to create table from empty object" in str(broker.records("t-dlq")[0].headers())
    broker.send("t", [record(1)])
    driver.drain()
    assert driver.column(TABLE) == [1]


def test_a_branch_is_made_and_gets_the_rows(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, {"iceberg.tables.default-commit-branch": "staging"})
    broker.send("t", [record(1)])
    driver.drain()
    table = catalog.load_table(TABLE)
    assert driver.rows(TABLE) == []
    snapshot = table.metadata.snapshot_by_name("staging")
    assert snapshot is not None
    assert table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows == 1


def test_changes_replace_and_delete_rows_by_their_keys(one: Memory) -> None:
    broker, catalog = one
    driver = Driver(broker, catalog, CHANGES)
    broker.send("t", [record(1, text="a", op="I"), record(2, text="b", op="I"), record(1, text="c", op="U")])
    driver.step()
    broker.send("t", [record(2, op="D"), record(3, text="d", op="I")])
    driver.step()
    assert sorted((row["id"], row["text"]) for row in driver.rows(TABLE)) == [(1, "c"), (3, "d")]


def test_a_value_that_debezium_left_out_is_that_of_the_row_as_the_pieces_of_a_batch_have_left_it(
    one: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, catalog = one
    monkeypatch.setattr(bookings, "MAX_DEAD_BYTES", 3000)
    driver = Driver(broker, catalog, {**CHANGES, **TOLERANT})
    broker.send("t", [record(1, text="old", op="I"), record(2, text="kept", op="I")])
    driver.step()
    gap = "__debezium_unavailable_value"
    last = [record(1, text=gap, op="U"), record(2, text=gap, op="U")]
    broker.send("t", [record(1, text="new", op="U"), *[b"{"] * 10, *last])
    driver.step()
    assert len(catalog.load_table(TABLE).snapshots()) > 2, "the batch was divided"
    assert sorted((row["id"], row["text"]) for row in driver.rows(TABLE)) == [(1, "new"), (2, "kept")]


def test_a_table_without_keys_cannot_have_changes(one: Memory) -> None:
    broker, catalog = one
    with pytest.raises(ConfigError, match="has no identifier fields"):
        Driver(broker, catalog, {"iceberg.tables.upsert-mode-enabled": "true"})
    with pytest.raises(ConfigError, match=r"cannot find rows by nothing \(.*correct iceberg.tables.default-id-columns"):
        Driver(broker, catalog, {**CHANGES, "iceberg.tables.default-id-columns": "nothing"})


def test_a_table_whose_rows_nothing_would_identify_is_not_made(none: Memory) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**CREATE, "iceberg.tables.upsert-mode-enabled": "true"})
    broker.send("t", [record(1)])
    with pytest.raises(ConfigError, match="has no identifier fields"):
        driver.step()
    assert not catalog.table_exists(TABLE)


@pytest.mark.parametrize(
    ("value", "odd", "expected"),
    [
        ("1", "97.5", "column x: the number has a fraction for type long; frazil.schema.path.x=double takes"),
        ("1", '"a"', "column x: the text is not an integer for type long; frazil.schema.path.x=string takes"),
        ("true", "[1]", "column x: expected a boolean, got array for type boolean; frazil.schema.path.x=json takes"),
        ('{"a":1}', '"t"', "column x: expected an object, got text; frazil.schema.path.x=json takes"),
        ("[1]", "[1,2.5]", "column x[1]: the number has a fraction for type long; frazil.schema.path.x.element=double"),
        ('[{"a":1}]', '[{"a":"b"}]', "column x[0].a: the text is not an integer for type long; frazil.schema.path.x"),
    ],
)
def test_a_value_of_another_kind_names_the_type_that_takes_both(
    none: Memory, value: str, odd: str, expected: str
) -> None:
    broker, catalog = none
    driver = Driver(broker, catalog, {**CREATE, **EVOLVE, **TOLERANT})
    broker.send("t", [b'{"id":1,"x":%b}' % value.encode()])
    driver.drain()
    broker.send("t", [b'{"id":2,"x":%b}' % odd.encode()])
    driver.drain()
    (letter,) = (read_letter(message) for message in broker.records("t-dlq", 0, 0, 10))
    assert letter is not None
    assert letter.kind.startswith(expected)
    key, _, rest = letter.kind.partition("; ")[2].partition("=")
    catalog.drop_table(TABLE)
    again = Driver(broker, catalog, {**CREATE, **EVOLVE, **TOLERANT, key: rest.partition(" ")[0], "name": "again"})
    again.drain()
    assert again.column(TABLE) == [1, 2]


KEYS = [("a", 0), ("a", 1), ("b", 0)]


def size(low: Offsets, high: Offsets) -> int:
    return sum(max(high[key] - low[key], 0) for key in high)


def letter(topic: str, partition: int, offset: int) -> DeadLetter:
    return DeadLetter(topic, partition, offset, 0, None, b"", (), "", "bad")


def test_a_range_is_divided_partition_after_partition() -> None:
    begin, end = {("a", 0): 10, ("a", 1): 0}, {("a", 0): 14, ("a", 1): 4}
    assert divide(begin, end, 4) == [
        {("a", 0): 12, ("a", 1): 0},
        {("a", 0): 14, ("a", 1): 0},
        {("a", 0): 14, ("a", 1): 2},
        end,
    ]


@given(
    begin=st.fixed_dictionaries({key: st.integers(0, 50) for key in KEYS}),
    lengths=st.fixed_dictionaries({key: st.integers(-5, 50) for key in KEYS}),
    parts=st.integers(1, 200),
)
def test_pieces_cover_the_range_once_and_are_even(begin: Offsets, lengths: Offsets, parts: int) -> None:
    """A partition may be in the table beyond the end of the batch: then it is in no piece."""
    end = {key: max(begin[key] + length, 0) for key, length in lengths.items()}
    pieces = divide(begin, end, parts)
    assert pieces[-1] == end
    low = begin
    sizes = []
    for piece in pieces:
        sizes.append(size(low, piece))
        assert all(piece[key] >= low[key] for key in piece if end[key] >= begin[key])
        low = {key: max(low[key], piece[key]) for key in piece}
    assert sum(sizes) == size(begin, end)
    assert len(pieces) <= parts
    assert len(set(sizes[:-1])) <= 1
    assert sizes[-1] <= max(sizes[0], 1)


def test_repeated_division_ends_at_single_records() -> None:
    begin, end = dict.fromkeys(KEYS, 0), dict.fromkeys(KEYS, 3)
    pieces = [end]
    for _ in range(10):
        pieces = divide(begin, end, 2 * len(pieces))
    assert [size(low, high) for low, high in itertools.pairwise([begin, *pieces])] == [1] * 9


def test_before_is_the_first_bad_record_of_each_partition() -> None:
    ceiling = {("a", 0): 100, ("a", 1): 100, ("b", 0): 100}
    bad = [letter("a", 0, 50), letter("a", 0, 7), letter("b", 0, 99)]
    assert before(bad, ceiling) == {("a", 0): 7, ("a", 1): 100, ("b", 0): 99}


def test_records_that_stand_alone_are_pieces_of_their_own() -> None:
    assert cut([{("t", 0): 50}, {("t", 0): 100}], ()) == [{("t", 0): 50}, {("t", 0): 100}]
    pieces = cut([{("t", 0): 50}, {("t", 0): 100}], {0, 7, 8, 99})
    assert [piece["t", 0] for piece in pieces] == [0, 1, 7, 8, 9, 50, 99, 100]
    assert count({("t", 0): 7}, pieces[3]) == 1
