"""Processor time and memory of a process with all its descendants."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from types import TracebackType

import psutil

_INTERVAL_S = 0.5
_MEMORY_EVERY = 4
"""Looks at the clock for one at memory, which takes the kernel some 30 ms of CPU."""


@dataclass(frozen=True)
class Sample:
    """State of a process tree: `at` in seconds since the epoch, `cpu_s` since it began, memory in bytes.

    `pss` counts a page that several processes share once; `rss` counts it in each of them.
    """

    at: float
    cpu_s: float
    pss: int
    rss: int


class TreeSampler:
    """Samples a process tree twice a second while its `with` block runs, its memory every two seconds.

    Processor time is user + system of all living processes plus what each has collected from children that ended, so
    work of short-lived children counts.
    """

    def __init__(self, root: psutil.Process) -> None:
        self._root = root
        self._samples: list[Sample] = []
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="sampler")
        self._loop: Future[None] | None = None

    def __enter__(self) -> TreeSampler:
        self.take()
        self._loop = self._executor.submit(self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._executor.shutdown()
        if self._loop is not None and error is None:
            self._loop.result()

    def take(self, *, memory: bool = True) -> None:
        """Take a sample now; none when the process has ended. Without `memory` it has that of the last one."""
        with self._lock:
            sample = sample_tree(self._root, None if memory or not self._samples else self._samples[-1])
            if sample is not None:
                self._samples.append(sample)

    @property
    def samples(self) -> Sequence[Sample]:
        return self._samples

    def _run(self) -> None:
        for number in count(1):
            if self._stopped.wait(_INTERVAL_S):
                return
            self.take(memory=not number % _MEMORY_EVERY)


def sample_tree(root: psutil.Process, remembered: Sample | None = None) -> Sample | None:
    """Sample a process and its descendants; None when it has ended. Memory is the remembered one when there is one."""
    try:
        members = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return None
    cpu, pss, rss = 0.0, 0, 0
    for member in members:
        try:
            times = member.cpu_times()
            memory = None if remembered is not None else member.memory_full_info()
        except psutil.NoSuchProcess:  # ended just now: its parent has its time
            continue
        cpu += times.user + times.system + times.children_user + times.children_system
        if memory is not None:
            pss += memory.pss
            rss += memory.rss
    if remembered is not None:
        pss, rss = remembered.pss, remembered.rss
    return Sample(time.time(), cpu, pss, rss)


def cpu_between(samples: Sequence[Sample], begin: float, end: float) -> float:
    """Processor seconds between two moments, interpolated; moments outside the samples count as the nearest one.

    Raises ValueError without samples.
    """
    return _cpu_at(samples, end) - _cpu_at(samples, begin)


def _cpu_at(samples: Sequence[Sample], at: float) -> float:
    if not samples:
        raise ValueError("no samples")
    index = bisect_right(samples, at, key=lambda sample: sample.at)
    if index == 0:
        return samples[0].cpu_s
    if index == len(samples):
        return samples[-1].cpu_s
    before, after = samples[index - 1], samples[index]
    return before.cpu_s + (after.cpu_s - before.cpu_s) * (at - before.at) / (after.at - before.at)
