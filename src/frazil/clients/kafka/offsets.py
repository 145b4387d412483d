"""Offsets at which the partitions of topics begin and end."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from confluent_kafka import IsolationLevel, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from frazil.clients.kafka.client import TIMEOUT_S, Settling, admin, result, until_settled
from frazil.errors import FrazilError, ServiceUnavailable

Offsets = dict[tuple[str, int], int]


@until_settled
def begin_offsets(bootstrap: str, topics: Iterable[str]) -> Offsets:
    """First offset that is still stored, per (topic, partition). Raises NotFound or ServiceUnavailable."""
    return _list_offsets(bootstrap, list(topics), OffsetSpec.earliest())  # type: ignore[no-untyped-call]


@until_settled
def end_offsets(bootstrap: str, topics: Iterable[str], *, committed: bool = False) -> Offsets:
    """Offset that the next record will get, per (topic, partition).

    With `committed` that of the first record of an open transaction, where there is one. Raises NotFound or
    ServiceUnavailable.
    """
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    return _list_offsets(bootstrap, list(topics), latest, committed=committed)


@until_settled
def offsets_since(bootstrap: str, topics: Iterable[str], since_ms: int) -> Offsets:
    """Offset of the first record that is as new as a time in epoch ms, per (topic, partition) that has one.

    Raises NotFound or ServiceUnavailable.
    """
    wanted = OffsetSpec.for_timestamp(max(since_ms, 0))
    found = _list_offsets(bootstrap, list(topics), wanted)
    return {key: offset for key, offset in found.items() if offset >= 0}


@dataclass(frozen=True)
class TopicEnds:
    """Offsets behind the last records by (topic, partition), and what is wrong with other topics."""

    ends: Offsets
    errors: Mapping[str, FrazilError]


def look_at_ends(bootstrap: str, topics: Collection[str], *, committed: bool = False) -> TopicEnds:
    """The ends of many topics at once, as `end_offsets` has them; one that is wrong leaves the others as they are.

    Raises ServiceUnavailable when no broker answers.
    """
    errors: dict[str, FrazilError] = {}

    def note(topic: str, error: FrazilError) -> None:
        if isinstance(error, ServiceUnavailable) and not isinstance(error, Settling):
            raise error
        errors[topic] = error

    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    return TopicEnds(_list_offsets(bootstrap, topics, latest, note, committed=committed), errors)


def _fail(topic: str, error: FrazilError) -> NoReturn:
    raise error


def _list_offsets(
    bootstrap: str,
    topics: Collection[str],
    spec: OffsetSpec,
    wrong: Callable[[str, FrazilError], None] = _fail,
    *,
    committed: bool = False,
) -> Offsets:
    """An offset of each partition; `wrong` gets the error of each topic that has one, or raises it."""
    client = admin(bootstrap)
    wanted: dict[TopicPartition, OffsetSpec] = {}
    described = client.describe_topics(TopicCollection(list(topics)), request_timeout=TIMEOUT_S) if topics else {}
    for name, future in described.items():
        try:
            description = result(client, future, bootstrap, f"topic {name}")
            wanted |= {TopicPartition(name, partition.id): spec for partition in description.partitions}
        except FrazilError as error:
            wrong(name, error)
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    found = client.list_offsets(wanted, isolation_level=isolation, request_timeout=TIMEOUT_S) if wanted else {}
    offsets: Offsets = {}
    for place, answer in found.items():
        try:
            listed = result(client, answer, bootstrap, f"offsets of {place.topic}-{place.partition}")
            offsets[place.topic, place.partition] = int(listed.offset)
        except FrazilError as error:
            wrong(place.topic, error)
    return offsets
