"""Poison pills: records that make a step raise what nothing has foreseen. Each becomes a dead letter, like any other.

The safety net below the exact handling of bad records. When a step raises, the records are read again, chunk by chunk,
and each chunk that raises is halved down to the records that do; these are refused, and the others are stored. It costs
nothing as long as nothing raises. Errors of ours, of the operating system and of the memory say nothing of a record,
and go their way. So does an exception that every record of a task raises at the same place, from `ALIKE` records on: it
is the installation's or the table's then, and a dead-letter topic would get everything.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Literal, TypeVar

import numpy as np

from frazil.errors import FrazilError, TerminalError
from frazil.pipeline.letters.deadletter import Coordinates
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.record import StageError

ALIKE = 100
"""Records of one task that are enough to say, when all of them fail alike, that it is not their content."""

StepName = Literal["transform", "route", "convert", "write"]
_STAGES: dict[StepName, str] = {
    "transform": "TRANSFORMATION",
    "route": "TASK_PUT",
    "convert": "VALUE_CONVERTER",
    "write": "TASK_PUT",
}
_RUST_PANIC = "pyo3_runtime"
_MOST_TEXT = 500

T = TypeVar("T")


class Unforeseen(Exception):
    """An exception of a step that nothing has foreseen; `table` is empty where the step is that of all tables."""

    def __init__(self, step: StepName, table: str, cause: BaseException) -> None:
        super().__init__(f"step {step}: {type(cause).__name__}: {cause}")
        self.step, self.table, self.cause = step, table, cause
        last = traceback.extract_tb(cause.__traceback__)[-1]
        self.place = f"{last.filename.rpartition('site-packages/')[2].rpartition('src/')[2]}:{last.lineno}"


class PoisonPill(StageError):
    """A record that makes a step raise; `exception` is the class and the trace of what it raises."""

    def __init__(self, raised: Unforeseen) -> None:
        cause = raised.cause
        kind = f"{type(cause).__module__}.{type(cause).__qualname__}".removeprefix("builtins.")
        text = f"step {raised.step} failed unexpectedly with {kind} at {raised.place}: {str(cause)[:_MOST_TEXT]}"
        super().__init__(_STAGES[raised.step], raised.place.rpartition(":")[0], text)
        self.exception = kind, "".join(traceback.format_exception(cause))
        self.alike = type(cause), raised.place


class PoisonPills:
    """The poison pills of a task, by table and record; the empty table stands for all."""

    def __init__(self) -> None:
        self._found: dict[str, dict[Coordinates, PoisonPill]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._found.values()))

    def add(self, rows: Rows, index: int, raised: Unforeseen) -> bool:
        """Note the record of a row; False when it is noted already."""
        at = rows.topic, rows.partition, int(rows.offsets[index])
        noted = self._found.setdefault(raised.table, {})
        if at in noted:
            return False
        noted[at] = PoisonPill(raised)
        return True

    def among(self, rows: Rows, table: str = "") -> dict[int, PoisonPill]:
        """Find those of a table among rows, by their indexes."""
        noted = self._found.get(table)
        if not noted:
            return {}
        places = enumerate(rows.offsets.tolist())
        found = ((index, noted.get((rows.topic, rows.partition, offset))) for index, offset in places)
        return {index: pill for index, pill in found if pill is not None}

    def divide(self, rows: Rows) -> tuple[Rows, list[tuple[int, PoisonPill]]]:
        """Keep the rows that are none for all tables; give the others by their indexes."""
        found = self.among(rows)
        if not found:
            return rows, []
        return rows.where(~np.isin(np.arange(len(rows)), list(found))), list(found.items())

    def alike(self, count: int) -> PoisonPill | None:
        """Give one of them, where all of `count` records are such and raise the same at the same place."""
        records = {at for noted in self._found.values() for at in noted}
        pills = [pill for noted in self._found.values() for pill in noted.values()]
        if count < ALIKE or len(records) < count or len({pill.alike for pill in pills}) > 1:
            return None
        return pills[0]


@contextmanager
def step(name: StepName, table: str = "") -> Iterator[None]:
    """Tell which step raised what nothing has foreseen, as Unforeseen."""
    try:
        yield
    except (FrazilError, OSError, MemoryError, Unforeseen):
        raise
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__module__ == _RUST_PANIC:
            raise Unforeseen(name, table, error) from error
        raise


def tolerating(
    read: Callable[[], Generator[Rows]],
    run: Callable[[Iterable[Rows], PoisonPills], T],
    rehearse: Callable[[Rows, PoisonPills], object],
) -> T:
    """Run a task over what `read` gives; poison pills are looked for when a step raises Unforeseen, and refused.

    `rehearse` does what `run` does with one chunk, and keeps nothing. Raises TerminalError, which names the records,
    for what no single record raises, and for what all of them raise.
    """
    pills = PoisonPills()
    try:
        with closing(read()) as chunks:
            return run(chunks, pills)
    except Unforeseen as error:
        raised = error
    count, first = 0, ""
    with closing(read()) as chunks:
        for rows in chunks:
            first = first or f"topic {rows.topic}, partition {rows.partition}, offset {rows.offsets[0]}"
            count += len(rows)
            _find(rows, rehearse, pills)
    common = pills.alike(count)
    if common is not None:
        raise TerminalError(
            f"every one of {count:,} records fails alike, from {first} on: {common.reason}. None of them was stored, "
            "and none is a dead letter, since it is hardly their content. Look at the table, the configuration and the "
            "installation, then restart the connector."
        ) from raised.cause
    try:
        with closing(read()) as chunks:
            return run(chunks, pills)
    except Unforeseen as again:
        raise TerminalError(
            f"{again} at {again.place}, among {count:,} records from {first} on, and no record of them is the cause. "
            "Nothing of them was stored."
        ) from again.cause


def _find(rows: Rows, rehearse: Callable[[Rows, PoisonPills], object], pills: PoisonPills) -> None:
    """Note the poison pills among rows, so that a rehearsal of the rows raises nothing."""
    while True:
        try:
            rehearse(rows, pills)
            return
        except Unforeseen as error:
            raised = error
        known = len(pills)
        if len(rows) > 1:
            middle = len(rows) // 2
            for part in (range(middle), range(middle, len(rows))):
                _find(rows.take(part), rehearse, pills)
        if len(pills) == known and not pills.add(rows, *_last_needed(rows, rehearse, pills, raised)):
            raise TerminalError(f"{raised} at {raised.place}, though the record is left out") from raised.cause


def _last_needed(
    rows: Rows, rehearse: Callable[[Rows, PoisonPills], object], pills: PoisonPills, raised: Unforeseen
) -> tuple[int, Unforeseen]:
    """Find the record that makes the rows before it raise, where rows raise together only: its index, and what."""
    passes, raises = 0, len(rows)
    while raises - passes > 1:
        middle = (passes + raises) // 2
        try:
            rehearse(rows.take(range(middle)), pills)
            passes = middle
        except Unforeseen as error:
            raises, raised = middle, error
    return raises - 1, raised
