"""Executors of the tasks of a batch: in this process, or on those of Spark (`frazil.engine.jobs`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

TaskCall = Callable[[], T]
"""Call of a task, which returns its result to the driver; both are picklable."""


class Executor(Protocol):
    """Runs the tasks of one connector."""

    @property
    def parallelism(self) -> int:
        """Number of tasks that run at once."""

    def run(self, calls: Sequence[TaskCall[T]], what: str, records: int | None = None) -> list[T]:
        """Run each call as a task, and return their results in order when all are done.

        `what` describes the job for people; `records` is how many records the calls read, None when nobody knows.
        Raises what a call has raised, or what the executor makes of it (`frazil.engine.failures.classify`).
        """


class InlineExecutor:
    """Runs the tasks in this process, one after the other."""

    parallelism = 1

    def run(self, calls: Sequence[TaskCall[T]], what: str, records: int | None = None) -> list[T]:
        """See `Executor`; errors come as they are."""
        return [call() for call in calls]


Item = TypeVar("Item")
_TASKS_PER_SLOT = 4


def spread(executor: Executor, function: Callable[[Item], T], items: Sequence[Item], what: str) -> list[T]:
    """Apply a function to each item, in some tasks for each that runs at once; results in the order of the items."""
    count = min(len(items), _TASKS_PER_SLOT * executor.parallelism)
    shares = [items[number * len(items) // count : (number + 1) * len(items) // count] for number in range(count)]
    return [result for part in executor.run([_Share(function, share) for share in shares], what) for result in part]


@dataclass(frozen=True)
class _Share:
    """The items of one task."""

    function: Callable[[Any], Any]
    items: Sequence[Any]

    def __call__(self) -> list[Any]:
        return [self.function(item) for item in self.items]
