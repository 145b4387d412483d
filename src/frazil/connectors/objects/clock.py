"""Notes of the clock's time while records of a Kafka partition came, kept so that a replay sees the same.

Rotation by schedule and the Wallclock extractor depend on when records are read, which no topic tells. So each time
that makes a difference is noted with the offset from which on it counts, and stored with the position before any object
that depends on it: a worker that is killed finds the same times again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
import numpy as np

from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.rotation import Numbers
from frazil.text.joda_dates import bucket_start
from frazil.text.time_zones import time_zone

MAX_TICKS = 80
"""Times that are kept for a partition: they are stored with each position."""
_TOLD_MS, _RARER = 1000, 1.1
_STEPS = 50
"""Number of steps that an interval of the wall clock is divided into."""


Offset = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""Offset of a record, as it is stored."""


class Tick(msgspec.Struct, frozen=True, array_like=True):
    """Time of the clock from `offset` on, in epoch milliseconds; with `cut` it asks for a rotation there."""

    offset: Offset
    ms: int
    cut: bool = False


@dataclass
class Clock:
    """The times of one Kafka partition, by ascending offset. Without `wallclock` only cuts of the schedule matter.

    With `told` records tell these times. They are noted ever more rarely while nothing is stored, so they are early by
    a second or by a tenth of that time, and the notes are enough for six hours.
    """

    wallclock: bool = False
    step_ms: int = 0
    schedule_ms: int | None = None
    zone: str = "UTC"
    bucket_ms: int = 0
    bucket_zone: str = "UTC"
    ticks: list[Tick] = field(default_factory=list)
    told: bool = False

    @classmethod
    def of(cls, config: ObjectSinkConfig, ticks: Iterable[Tick] = ()) -> Clock | None:
        """The clock of a partition as it was stored; None when no object depends on it."""
        partitioning, rotation = config.partitioning, config.rotation
        wallclock = partitioning.duration_ms > 0 and partitioning.extractor == "Wallclock"
        if not wallclock and rotation.schedule_ms is None and not config.metadata:
            return None
        spans = [span for span in (rotation.interval_ms, partitioning.duration_ms) if span]
        step = max(min(spans) // _STEPS, 1) if wallclock and spans else 0
        bucket = partitioning.duration_ms if wallclock else 0
        return cls(
            wallclock,
            step,
            rotation.schedule_ms,
            rotation.zone,
            bucket,
            partitioning.zone or "UTC",
            list(ticks),
            config.metadata,
        )

    def advance(self, offset: int, now_ms: int) -> bool:
        """Note the time at which records from `offset` on are read; True when it makes a difference.

        A time before the last one counts as the last one, so that a clock that is set back changes nothing.
        """
        last = self.ticks[-1] if self.ticks else None
        if last is None:
            self.ticks.append(Tick(offset, now_ms))
            return True
        if offset < last.offset or now_ms <= last.ms:
            return False
        cut = self._is_due(last.ms, now_ms)
        if not cut and not self._moved(last.ms, now_ms):
            return False
        if len(self.ticks) >= MAX_TICKS:
            if not cut and not self.wallclock:
                return False
            cut = True
        if offset == last.offset:
            self.ticks[-1] = Tick(offset, now_ms, cut or last.cut)
        else:
            self.ticks.append(Tick(offset, now_ms, cut))
        return True

    def _moved(self, last_ms: int, now_ms: int) -> bool:
        """Whether records that come now need another time than those that came before."""
        if not self.wallclock:
            return self.told and now_ms - last_ms >= _TOLD_MS * _RARER ** len(self.ticks)
        if now_ms - last_ms >= self.step_ms:
            return True
        here = (bucket_start(ms, self.bucket_ms, self.bucket_zone) for ms in (last_ms, now_ms))
        return bool(self.bucket_ms) and next(here) != next(here)

    def _is_due(self, last_ms: int, now_ms: int) -> bool:
        return self.schedule_ms is not None and now_ms >= next_boundary(last_ms, self.schedule_ms, self.zone)

    def forget(self, position: int) -> None:
        """Records below the position are stored; the time that counts there is kept."""
        later = [tick for tick in self.ticks if tick.offset > position]
        here = [tick for tick in self.ticks if tick.offset <= position][-1:]
        self.ticks = [Tick(position, tick.ms) for tick in here] + later

    def times(self, offsets: Numbers) -> Numbers:
        """Clock's time for each record, in epoch milliseconds."""
        at = np.array([tick.offset for tick in self.ticks], np.int64)
        ms = np.array([tick.ms for tick in self.ticks], np.int64)
        return ms[np.maximum(np.searchsorted(at, offsets, side="right") - 1, 0)]

    def cuts(self, offsets: Numbers, after: int) -> list[int]:
        """Positions among ascending offsets before which the clock asks for a rotation.

        `after` is the offset of the record before the first one.
        """
        if not len(offsets):
            return []
        wanted = [tick.offset for tick in self.ticks if tick.cut and after < tick.offset <= offsets[-1]]
        return sorted({int(place) for place in np.searchsorted(offsets, wanted)})

    def cuts_behind(self, last: int, end: int) -> bool:
        """Whether the clock asks for a rotation behind the record at `last`, and at `end` at the latest."""
        return any(tick.cut and last < tick.offset <= end for tick in self.ticks)


def next_boundary(now_ms: int, period_ms: int, zone: str) -> int:
    """The first time after an instant that the schedule asks for, in epoch milliseconds.

    It asks at the start of the day and at multiples of the period from there, and at the next midnight, so that days
    with a change of the clock have it too.
    """
    tz = time_zone(zone)
    day = dt.datetime.fromtimestamp(now_ms / 1000, tz).date()
    start = _midnight(day, tz)
    step = start + ((now_ms - start) // period_ms + 1) * period_ms
    return min(step, _midnight(day + dt.timedelta(days=1), tz))


def _midnight(day: dt.date, tz: dt.tzinfo) -> int:
    return round(dt.datetime.combine(day, dt.time(), tz).timestamp() * 1000)
