"""When reading is worth while: records of objects that stay open are read again, so they are read late.

What is stored does not depend on this: objects end where the records say, whenever they are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from frazil.config.joda_dates import bucket_start
from frazil.config.object_sink import ObjectSinkConfig
from frazil.sinks.objects.clock import Clock


@dataclass(frozen=True)
class Seen:
    """What the last run left open of a partition: it ended at `end`, with so many records since a record time.

    `limited`: it was ended for its length, and there was more to read.
    """

    end: int
    open_count: int
    open_since: int
    limited: bool = False


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
    if not seen.open_count or fresh >= config.rotation.flush_size - seen.open_count:
        return True
    return _may_be_complete(config, now_ms, seen, clock)


def _may_be_complete(config: ObjectSinkConfig, now_ms: int, seen: Seen, clock: Clock | None) -> bool:
    """Whether one more record may complete an object, whatever its count."""
    rotation, partitioning = config.rotation, config.partitioning
    if rotation.max_bytes is not None or rotation.max_open_files is not None or config.schemas_enable:
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
