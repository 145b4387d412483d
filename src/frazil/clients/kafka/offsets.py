"""Offsets at which the partitions of topics begin and end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import IsolationLevel, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from frazil.clients.kafka.client import TIMEOUT_S, Settling, admin, result, until_settled
from frazil.clients.kafka.topics import descriptions
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
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    return _list_offsets(bootstrap, list(topics), latest, isolation)


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
    client = admin(bootstrap)
    errors: dict[str, FrazilError] = {}
    counts: dict[str, int] = {}
    described = client.describe_topics(TopicCollection(list(topics)), request_timeout=TIMEOUT_S) if topics else {}
    for name, description in described.items():
        try:
            counts[name] = len(result(client, description, bootstrap, f"topic {name}").partitions)
        except FrazilError as error:
            errors[name] = _of_one_topic(error)
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    wanted = {TopicPartition(name, number): latest for name, count in counts.items() for number in range(count)}
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    found = client.list_offsets(wanted, isolation_level=isolation, request_timeout=TIMEOUT_S) if wanted else {}
    ends: Offsets = {}
    for place, future in found.items():
        try:
            answer = result(client, future, bootstrap, f"offsets of {place.topic}-{place.partition}")
            ends[place.topic, place.partition] = int(answer.offset)
        except FrazilError as error:
            errors[place.topic] = _of_one_topic(error)
    return TopicEnds(ends, errors)


def _of_one_topic(error: FrazilError) -> FrazilError:
    """The error of a topic; raises one of the cluster."""
    if isinstance(error, ServiceUnavailable) and not isinstance(error, Settling):
        raise error
    return error


def _list_offsets(
    bootstrap: str,
    topics: list[str],
    spec: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> Offsets:
    client = admin(bootstrap)
    wanted = {
        TopicPartition(name, partition.id): spec
        for name, description in descriptions(client, bootstrap, topics).items()
        for partition in description.partitions
    }
    if not wanted:
        return {}
    futures = client.list_offsets(wanted, isolation_level=isolation, request_timeout=TIMEOUT_S)
    return {
        (p.topic, p.partition): int(result(client, future, bootstrap, f"offsets of {p.topic}-{p.partition}").offset)
        for p, future in futures.items()
    }
