"""Names of replayed dead letters in the table that has their rows: the same snapshot has both.

A copy in the table's properties names those that may still be open, for when their snapshots have been expired.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from pyiceberg.table import Table

from frazil.connectors.iceberg.table.commit import TableBranch, summary_of
from frazil.errors import ConfigError
from frazil.pipeline.letters.deadletter import Coordinates
from frazil.pipeline.letters.log import Queue
from frazil.pipeline.letters.ranges import Ranges, by_partition

DEADLETTERS = "frazil.deadletters"
ROWS = "frazil.deadletters-rows."
"""Beginning of the table property with the number of rows that replays have added to a branch."""

_DIGITS = 20

Place = tuple[str, str, int]
"""Dead-letter topic, its id, and the partition: a topic that is made anew has other dead letters."""
Replayed = Mapping[Place, Ranges]


def places(positions: Iterable[Coordinates], queues: Sequence[Queue]) -> Replayed:
    """Dead letters, given by topic, partition and offset, by place."""
    ids = {queue.topic: queue.topic_id for queue in queues}
    return {(topic, ids[topic], partition): ranges for (topic, partition), ranges in by_partition(positions).items()}


def stored(target: TableBranch, table: Table) -> Replayed:
    """The dead letters whose rows the branch has."""
    texts = []
    expired = False
    for snapshot in target.history(table):
        texts.append(summary_of(snapshot).get(DEADLETTERS))
        expired = snapshot.parent_snapshot_id is not None
    if expired:  # else a snapshot that is not there any more was rolled back, and its rows with it
        texts.append(table.properties.get(_property(target)))
    return union(from_json(text) for text in texts if text)


def rows_stored(target: TableBranch, table: Table) -> int:
    """Number of rows that replays have added to the branch; those of expired snapshots too, as a property tells."""
    summaries = [summary_of(snapshot) for snapshot in target.history(table)]
    added = sum(_number(summary.get("added-records", "")) for summary in summaries if DEADLETTERS in summary)
    return max(added, _number(table.properties.get(ROWS + target.branch, "")))


def union(several: Iterable[Replayed]) -> Replayed:
    """Join several sets."""
    result: dict[Place, Ranges] = {}
    for one in several:
        for place, ranges in one.items():
            result[place] = result[place] | ranges if place in result else ranges
    return result


def properties(target: TableBranch, table: Table, new: Replayed, queues: Sequence[Queue]) -> dict[str, str]:
    """Properties of the table with which `new` is found again until its markers are written."""
    text = table.properties.get(_property(target))
    by_topic = {queue.topic: queue for queue in queues}
    kept: dict[Place, Ranges] = {}
    for place, ranges in (from_json(text) if text else {}).items():
        queue = by_topic.get(place[0])
        if queue is None:
            kept[place] = ranges
        elif queue.topic_id == place[1]:
            kept[place] = Ranges.of(offset for offset in ranges if queue.is_open(place[2], offset))
    return {_property(target): to_json(union([kept, new]))}


def to_json(replayed: Replayed) -> str:
    """`{"apilogs-dlq":[{"id":"…","offsets":{"0":"5,7-9"}}]}`"""
    topics: dict[str, dict[str, dict[str, str]]] = {}
    for (topic, topic_id, partition), ranges in sorted(replayed.items()):
        if ranges:
            topics.setdefault(topic, {}).setdefault(topic_id, {})[str(partition)] = str(ranges)
    entries = {topic: [{"id": i, "offsets": offsets} for i, offsets in ids.items()] for topic, ids in topics.items()}
    return json.dumps(entries, separators=(",", ":"))


def from_json(text: str) -> Replayed:
    """Raises ConfigError for anything but the shape of `to_json`."""
    try:
        return {
            (str(topic), str(entry["id"]), int(partition)): Ranges.parse(ranges)
            for topic, entries in json.loads(text).items()
            for entry in entries
            for partition, ranges in entry["offsets"].items()
        }
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise ConfigError(
            f"the table's record of replayed dead letters ({DEADLETTERS}) cannot be read: {text[:200]!r}. Nothing was "
            "replayed: what it has already is not known"
        ) from error


def _property(target: TableBranch) -> str:
    return f"{DEADLETTERS}.{target.branch}"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _DIGITS else 0
