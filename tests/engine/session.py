"""A Spark session whose jobs run in this process, in the thread that waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Job:
    """A job as Spark gets it: what its UI shows, and how many calls it has in how many tasks."""

    group: str
    description: str
    calls: int
    tasks: int


class Session:
    """`before` is called with each job when it begins; what it raises is the error of the job.

    Jobs of a group that was cancelled fail, as those of Spark do.
    """

    def __init__(self, parallelism: int = 2) -> None:
        self.defaultParallelism = parallelism
        self.jobs: list[Job] = []
        self.cancelled: set[str] = set()
        self.before: Callable[[Job], None] = lambda job: None
        self._local = threading.local()

    @property
    def sparkContext(self) -> Session:
        return self

    def setJobGroup(self, group: str, description: str, interruptOnCancel: bool) -> None:
        assert interruptOnCancel
        self._local.group = group, description

    def cancelJobGroup(self, group: str) -> None:
        self.cancelled.add(group)

    def parallelize(self, numbers: Sequence[int], tasks: int) -> _Numbers:
        group, description = self._local.group
        return _Numbers(self, numbers, Job(group, description, len(numbers), tasks))


@dataclass
class _Numbers:
    session: Session
    numbers: Sequence[int]
    job: Job
    step: Callable[[int], Any] = int

    def map(self, step: Callable[[int], Any]) -> _Numbers:
        return _Numbers(self.session, self.numbers, self.job, step)

    def collect(self) -> list[Any]:
        self.session.jobs.append(self.job)
        self.session.before(self.job)
        results = [self.step(number) for number in self.numbers]
        if self.job.group in self.session.cancelled:
            raise RuntimeError(f"Job cancelled: part of cancelled job group {self.job.group}")
        return results
