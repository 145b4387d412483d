"""Positions of a connector as they are kept in the store, and who may write them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import IO

import pytest

from frazil.clients.objects import Found
from frazil.connectors.objects import stored_positions
from frazil.connectors.objects.clock import Tick
from frazil.connectors.objects.config.object_sink import Layout
from frazil.connectors.objects.stored_positions import Place, State, StoredPositions, positions_object
from frazil.connectors.positions import KafkaIdentity, Moves
from frazil.errors import ConfigError, Fenced
from tests.connectors.objects.samples import FolderStore

NAME = "events/_topics/c.json"
STATE = State(
    topics={"a": "1", "b": "2"},
    cluster="k",
    positions={"a": {0: Place(5, (Tick(3, 4, True),)), 1: Place(6)}, "b": {0: Place(7)}},
    letters={"a-dlq": {0: 8}},
)


class Refusing(FolderStore):
    """A store that lets nobody get or put anything."""

    def look(self, name: str) -> Found | None:
        raise ConfigError("AccessDenied.")

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        raise ConfigError("AccessDenied.")


class Unconditional(FolderStore):
    """A store that puts whatever the condition is."""

    def put_over(self, name: str, data: bytes, etag: str) -> str | None:
        raise AssertionError("it keeps no conditions")

    def keeps_conditions(self, name: str, data: bytes) -> bool:
        return False


class Forgetful(FolderStore):
    """A store whose answer to a put is lost, so that it is tried again, and refused."""

    def put_over(self, name: str, data: bytes, etag: str) -> str | None:
        super().put_over(name, data, etag)
        return super().put_over(name, data, etag)


def start(store: FolderStore) -> StoredPositions:
    stored = StoredPositions(NAME, store, "c")
    stored.load()
    return stored


@pytest.fixture(params=[FolderStore, Unconditional, Forgetful])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FolderStore:
    made: FolderStore = request.param(str(tmp_path))
    return made


def test_where_they_are_kept() -> None:
    assert positions_object(Layout("events/user"), "c") == "events/user/_topics/c.json"
    assert positions_object(Layout(""), "c") == "_topics/c.json"


def test_a_state_is_kept_and_loaded(store: FolderStore) -> None:
    stored = start(store)
    assert stored.load() == State()
    for state in (State(topics={"a": "1"}), STATE):
        stored.keep(state)
        found = start(store).load()
        assert (found.topics, found.cluster) == (state.topics, state.cluster)
        assert (found.positions, found.letters) == (state.positions, state.letters)


def test_what_an_earlier_release_has_kept_is_read(tmp_path: Path) -> None:
    path = tmp_path / "objects" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"topics":{"a":"1"}}')
    assert StoredPositions(NAME, FolderStore(str(tmp_path)), "c").load() == State(topics={"a": "1"})


def test_a_state_that_is_the_same_is_not_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = start(FolderStore(str(tmp_path)))
    stored.keep(STATE)
    monkeypatch.setattr(FolderStore, "put_over", None)
    stored.keep(STATE)


def test_a_writer_that_was_replaced_stores_nothing(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    before = start(store)
    before.keep(STATE)
    after = start(store)
    after.keep(STATE)
    kept = store.objects()
    before.check()
    monkeypatch.setattr(stored_positions, "_FRESH_S", 0)
    with pytest.raises(Fenced, match=rf"another worker has taken over connector c: object {NAME} was written"):
        before.check()
    with pytest.raises(Fenced, match="See that the connector runs once"):
        start_again = start(store)
        after.keep(State(topics={"a": "1"}))
        kept = store.objects()
        start_again.keep(STATE)
    assert store.objects() == kept
    after.check()
    after.keep(STATE)


def test_an_object_that_was_removed_ends_its_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = start(FolderStore(str(tmp_path)))
    stored.keep(STATE)
    (tmp_path / "objects" / NAME).unlink()
    with pytest.raises(Fenced):
        stored.keep(State())


def test_a_store_without_conditions_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stored = start(Unconditional(str(tmp_path)))
    with caplog.at_level(logging.WARNING):
        for topics in ({"a": "1"}, {"a": "2"}, {"a": "3"}):
            stored.keep(State(topics=topics))
    assert [record.getMessage() for record in caplog.records] == [
        "connector c: the store has no conditional puts, so that another worker that runs the connector too is noticed "
        "a little later"
    ]


NOW = KafkaIdentity("k", {"a": "9"})


@pytest.mark.parametrize(
    ("moves", "topics", "positions"),
    [
        (None, {}, {}),
        (Moves({("a", 0): 1}, frozenset(), NOW), STATE.topics, {"a": {0: 1, 1: 6}, "b": {0: 7}}),
        (Moves({("a", 0): 1, ("a", 1): 2}, frozenset(), NOW), {"a": "9", "b": "2"}, {"a": {0: 1, 1: 2}, "b": {0: 7}}),
        (
            Moves({}, frozenset({("a", 0), ("a", 1)}), KafkaIdentity()),
            {"b": "2"},
            {"a": {}, "b": {0: 7}},
        ),
    ],
)
def test_positions_are_moved_and_forgotten(
    moves: Moves | None, topics: dict[str, str], positions: dict[str, dict[int, int]]
) -> None:
    found = STATE.altered(moves, keeps_ids=False)
    assert found.topics == topics
    assert {
        topic: {number: place.offset for number, place in places.items()} for topic, places in found.positions.items()
    } == positions


def test_topics_of_a_table_stay_those_that_it_is_of() -> None:
    found = STATE.altered(None, keeps_ids=True)
    assert (found.topics, found.positions) == (STATE.topics, {"a": {}, "b": {}})
    assert STATE.altered(Moves({("b", 0): 1}, frozenset(), NOW), keeps_ids=True).topics == STATE.topics


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b'{"positions":{"a":{"0":[-5]}}}',
        b'{"positions":{"a":{"0":[9223372036854775808]}}}',
        b'{"positions":{"a":{"-1":[5]}}}',
        b'{"positions":{"a":{"0":[5,[[-3,4]]]}}}',
        b'{"letters":{"a-dlq":{"0":-8}}}',
    ],
)
def test_an_object_that_holds_no_positions(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "objects" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=f"object {NAME} cannot be used"):
        StoredPositions(NAME, FolderStore(str(tmp_path)), "c").load()


def test_a_store_without_rights(tmp_path: Path) -> None:
    stored = StoredPositions(NAME, Refusing(str(tmp_path)), "c")
    with pytest.raises(ConfigError, match=rf"AccessDenied\. The connector keeps its position in object {NAME}"):
        stored.load()
    with pytest.raises(ConfigError, match="needs the rights to get and put it"):
        stored.keep(STATE)
