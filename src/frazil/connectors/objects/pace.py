"""Pace of reading: records of objects that stay open are read again, so they are read late.

What is stored does not depend on this: objects end where the records say, whenever they are read.
"""

import math
from dataclasses import dataclass

from frazil.connectors.objects.clock import Clock
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.text.joda_dates import bucket_start

LOOK_MS = 10_000
"""Milliseconds that new records too few for an object wait for a look at them."""
_MARGIN = 2
"""Factor of the share of records that the last run left out, read on top: the next part has more by chance."""
_SHARE = 3
"""A look for a trigger that may not have come waits this many times as long as the last one took."""


@dataclass(frozen=True)
class Seen:
    """State after the last run over a partition: it ended at `end`, with so many records since a record time.

    `limited`: it was ended for its length, and there was more to read. It was at `at_ms`, and took `took_ms`. Of its
    records the part `left_out`, 0 to 1, went to no object: dead letters, tombstones, what a transform drops.
    """

    end: int
    open_count: int
    open_since: int
    limited: bool = False
    at_ms: int = 0
    took_ms: int = 0
    left_out: float = 0.0


def is_due(
    config: ObjectSinkConfig, position: int, end: int, now_ms: int, seen: Seen | None, clock: Clock | None
) -> bool:
    """Whether an object may be complete in the records from the position to below the end."""
    if end <= position:
        return False
    if clock is not None and any(position < tick.offset <= end and tick.cut for tick in clock.ticks):
        return True
    if seen is None or seen.limited:
        return True
    fresh = end - seen.end
    if fresh <= 0:
        return False
    if fresh >= config.rotation.flush_size - seen.open_count:
        return True
    if _count_alone(config):
        return fresh >= max(seen.open_count, 1) and now_ms - seen.at_ms >= LOOK_MS
    if not seen.open_count:
        return True
    return now_ms - seen.at_ms >= _SHARE * seen.took_ms and _may_be_complete(config, now_ms, seen, clock)


def useful_end(config: ObjectSinkConfig, position: int, end: int, seen: Seen | None) -> int:
    """Useful end of reading: behind the last object that the count of records completes, if it alone counts.

    More records are left out than were of the last run: then the last object stays open, and is read again.
    """
    if not _count_alone(config):
        return end
    begin, opened = (position, 0) if seen is None else (max(seen.end, position), seen.open_count)
    read_for_one = 1 + _MARGIN * (0.0 if seen is None else seen.left_out)
    flush = config.rotation.flush_size
    whole = (opened + int((end - begin) / read_for_one)) // flush * flush
    return begin + math.ceil((whole - opened) * read_for_one) if whole > opened else end


def _count_alone(config: ObjectSinkConfig) -> bool:
    """Whether the count of records alone completes an object."""
    rotation = config.rotation
    return (rotation.interval_ms, rotation.schedule_ms) == (None, None) and not _only_records_tell(config)


def _only_records_tell(config: ObjectSinkConfig) -> bool:
    rotation = config.rotation
    counts = rotation.max_bytes is None and rotation.max_open_files is None and not config.computed
    return not counts or config.schemas_enable


def _may_be_complete(config: ObjectSinkConfig, now_ms: int, seen: Seen, clock: Clock | None) -> bool:
    """Whether one more record may complete an object, whatever its count."""
    rotation, partitioning = config.rotation, config.partitioning
    if _only_records_tell(config):
        return True
    if rotation.interval_ms is None:
        return False
    since = clock.ticks[0].ms if clock is not None and clock.wallclock else seen.open_since
    if now_ms - since >= rotation.interval_ms:
        return True
    if not rotation.on_partition_change or partitioning.extractor == "RecordField":
        return partitioning.extractor == "RecordField"
    zone, width = partitioning.zone, partitioning.duration_ms
    return bucket_start(since, width, zone) != bucket_start(now_ms, width, zone)
