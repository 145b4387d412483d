"""Newest batches of the connectors of this worker, and the rates at which they store records."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from frazil.pipeline.report import BatchReport, Totals

SLOT_S = 10
SLOTS = 60
"""Rates are kept for so many slots of time: ten minutes."""
CONNECTORS = 1000
"""Among more, those that have not committed for longest are forgotten: names may come and go for ever."""
_BATCHES = 50
_NOW = 6
"""The rate that a connector has now is that of so many slots, a minute."""


@dataclass(frozen=True)
class Committed:
    """A batch with the time of its commit, in epoch seconds."""

    at: float
    report: BatchReport


@dataclass
class _Kept:
    totals: Totals = field(default_factory=Totals)
    batches: deque[Committed] = field(default_factory=lambda: deque(maxlen=_BATCHES))
    slots: Counter[int] = field(default_factory=Counter)


class History:
    """Batches by connector since the worker has started, the newest fifty of each; bounded whatever is observed."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def observe(self, report: BatchReport) -> None:
        """Add a committed batch."""
        now = self._clock()
        slot = int(now) // SLOT_S
        with self._lock:
            kept = self._kept.pop(report.connector) if report.connector in self._kept else _Kept()
            self._kept[report.connector] = kept
            while len(self._kept) > CONNECTORS:
                del self._kept[next(iter(self._kept))]
            kept.totals = kept.totals.plus(report)
            kept.batches.append(Committed(now, report))
            kept.slots[slot] += report.stored
            for old in [each for each in kept.slots if each <= slot - SLOTS]:
                del kept.slots[old]

    def batches(self, name: str) -> list[Committed]:
        """Batches of a connector, the newest first."""
        with self._lock:
            return list(reversed(self._kept[name].batches)) if name in self._kept else []

    def totals(self, name: str) -> Totals:
        """Sums over all batches of a connector."""
        with self._lock:
            return self._kept[name].totals if name in self._kept else Totals()

    def rates(self, name: str) -> Sequence[float]:
        """Records per second that a connector has stored in each slot of the last ten minutes, the oldest first."""
        last = int(self._clock()) // SLOT_S
        with self._lock:
            slots = self._kept[name].slots.copy() if name in self._kept else Counter[int]()
        return [slots[slot] / SLOT_S for slot in range(last - SLOTS + 1, last + 1)]

    def rate(self, name: str) -> float:
        """Records per second that a connector has stored in the last minute."""
        return sum(self.rates(name)[-_NOW:]) / _NOW
