"""Positions of a connector, kept as an object beside those that it stores: what Kafka forgets is known there.

The object has one writer. Each start takes it over, and what is put there by somebody else ends the writer before: a
worker that was replaced moves no position any more.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Annotated, Protocol, TypeVar

import msgspec

from frazil.clients.objects import Found
from frazil.connectors.objects.clock import Offset, Tick
from frazil.connectors.objects.config.object_sink import Layout
from frazil.connectors.objects.uploads import Store
from frazil.connectors.positions import Moves
from frazil.errors import ConfigError, Fenced
from frazil.pipeline.offsets import Offsets

logger = logging.getLogger(__name__)

_FRESH_S = 1.0
"""Seconds for which a look at the object counts."""


Value = TypeVar("Value")
_Partition = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]


class Place(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The next offset of a Kafka partition, and the notes of its clock."""

    offset: Offset
    ticks: tuple[Tick, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """State of a connector. `topics` are Kafka's ids of those that it has read, `cluster` is Kafka's id of theirs.

    `positions` has a topic without partitions when its position was forgotten on purpose. `letters` are offsets of
    dead-letter topics, by partition: below them are no letters of records that are still to be stored. `since` is where
    a backfill has begun.
    """

    topics: dict[str, str] = {}
    cluster: str = ""
    positions: dict[str, dict[_Partition, Place]] = {}
    letters: dict[str, dict[_Partition, Offset]] = {}
    since: dict[str, dict[_Partition, Offset]] = {}
    writer: str = ""

    def altered(self, moves: Moves | None, *, keeps_ids: bool) -> State:
        """The state after a user has moved positions, or forgotten all of them with None.

        The id of a topic that has no older position any more is that of now. With `keeps_ids` none is forgotten.
        """
        if moves is None:
            return State(topics=self.topics, positions={topic: {} for topic in self.topics}) if keeps_ids else State()
        altered = moves.to.keys() | moves.forgotten
        positions = {
            topic: {number: place for number, place in places.items() if (topic, number) not in altered}
            for topic, places in self.positions.items()
        }
        ids = dict(self.topics)
        for topic in {topic for topic, _ in altered}:
            if not positions.setdefault(topic, {}) and not keeps_ids:
                ids.pop(topic, None)
                ids |= {topic: moves.now.topic_ids[topic]} if topic in moves.now.topic_ids else {}
        for (topic, number), offset in moves.to.items():
            positions[topic][number] = Place(offset)
        return State(topics=ids, cluster=self.cluster, positions=positions, letters=self.letters)


_decode = msgspec.json.Decoder(State).decode


class StateStore(Store, Protocol):
    """Store of the object; see `frazil.clients.objects.ObjectStore`."""

    def look(self, name: str) -> Found | None: ...
    def put_over(self, name: str, data: bytes, etag: str) -> str | None: ...
    def keeps_conditions(self, name: str, data: bytes) -> bool: ...


def positions_object(layout: Layout, connector: str) -> str:
    """The name of the object; readers of tables pass over folders with an underscore."""
    return "".join(f"{part}/" for part in (layout.topics_dir, "_topics") if part) + f"{connector}.json"


class StoredPositions:
    """The object of one start of a connector; used from one thread."""

    def __init__(self, name: str, store: StateStore, connector: str) -> None:
        self.name = name
        self._store = store
        self._connector = connector
        self._writer = uuid.uuid4().hex
        self._found: Found | None = None
        self._looked = 0.0
        self._conditional: bool | None = None

    def load(self) -> State:
        """Look at the object. Raises ConfigError or ServiceUnavailable."""
        try:
            self._found = self._look()
            return State() if self._found is None else _decode(self._found.data)
        except msgspec.MsgspecError as error:
            raise ConfigError(
                f"object {self.name} cannot be used: {error}. Nothing was read. Delete it if the topics of the "
                "connector are still those that its objects are of; the position is that of its consumer group then."
            ) from None

    def keep(self, state: State) -> None:
        """Store a state in place of the one that was loaded or kept before; nothing is stored when it is the same.

        Raises Fenced when somebody else has stored one meanwhile, ConfigError or ServiceUnavailable.
        """
        data = msgspec.json.encode(msgspec.structs.replace(state, writer=self._writer))
        if self._found is None:
            self._put(data)
            self._found = self._look()
        elif data != self._found.data:
            self._replace(data, self._found)

    def check(self) -> None:
        """Raise Fenced when somebody else has stored a state since; it is not asked again within a second."""
        if time.monotonic() - self._looked < _FRESH_S:
            return
        if self._look() != self._found:
            raise self._fenced()

    @property
    def conditional(self) -> bool:
        """Whether the store refuses puts whose condition is not met; it is asked once, when the object is there."""
        if self._conditional is None and self._found is not None:
            with self._needing_rights():
                self._conditional = self._store.keeps_conditions(self.name, self._found.data)
            if not self._conditional:
                logger.warning(
                    "connector %s: the store has no conditional puts, so that another worker that runs the connector "
                    "too is noticed a little later",
                    self._connector,
                )
        return bool(self._conditional)

    def _replace(self, data: bytes, before: Found) -> None:
        if self.conditional:
            with self._needing_rights():
                etag = self._store.put_over(self.name, data, before.etag)
            if etag is not None:
                self._found, self._looked = Found(data, etag), time.monotonic()
                return
        elif self._look() == before:
            self._put(data)
        now = self._look()  # an attempt whose answer was lost may have stored it
        if now is None or now.data != data:
            raise self._fenced()
        self._found = now

    def _put(self, data: bytes) -> None:
        with self._needing_rights():
            self._store.put(self.name, BytesIO(data), len(data), ())

    def _look(self) -> Found | None:
        with self._needing_rights():
            found, self._looked = self._store.look(self.name), time.monotonic()
        return found

    def _fenced(self) -> Fenced:
        return Fenced(
            f"another worker has taken over connector {self._connector}: object {self.name} was written or removed "
            "since this worker wrote it. This one moves no position any more; what it has stored behind the position "
            "is stored again under the same names. See that the connector runs once, then restart it."
        )

    @contextmanager
    def _needing_rights(self) -> Iterator[None]:
        try:
            yield
        except ConfigError as error:
            raise ConfigError(
                f"{error} The connector keeps its position in object {self.name}, and needs the rights to get "
                "and put it (and to list the bucket, without which S3 refuses to say that it is not there)."
            ) from error


def by_topic(offsets: Offsets) -> dict[str, dict[int, int]]:
    """Offsets as a state has them."""
    found: dict[str, dict[int, int]] = {}
    for (topic, number), offset in offsets.items():
        found.setdefault(topic, {})[number] = offset
    return found


def of_partitions(positions: Mapping[str, Mapping[int, Value]]) -> dict[tuple[str, int], Value]:
    """Values that a state has of topics, by topic and partition."""
    return {(topic, number): value for topic, values in positions.items() for number, value in values.items()}
