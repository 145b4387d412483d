"""Poison pills: records that make a step raise what nothing has foreseen. Each becomes a dead letter, like any other.

The safety net below the exact handling of bad records. When a step raises, the records that make it raise are looked
for and refused, and the others are stored; see `tolerating`. It costs nothing as long as nothing raises. Errors of
ours, of the operating system and of the memory say nothing of a record, and go their way.
"""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np

from frazil.errors import FrazilError
from frazil.pipeline.convert.strict import StageError
from frazil.pipeline.letters.deadletter import Coordinates
from frazil.pipeline.rows import Rows

StepName = Literal["transform", "route", "convert", "write", "statement"]
_STAGES: dict[StepName, str] = {
    "transform": "TRANSFORMATION",
    "route": "TASK_PUT",
    "convert": "VALUE_CONVERTER",
    "write": "TASK_PUT",
    "statement": "TASK_PUT",
}
_RUST_PANIC = "pyo3_runtime"
_MOST_TEXT = 500


class Unforeseen(Exception):
    """An exception of a step that nothing has foreseen; `table` is empty where the step is that of all tables."""

    level = logging.WARNING
    """Level of the line which says that the records that raise it are looked for."""

    def __init__(self, step: StepName, table: str, cause: BaseException) -> None:
        super().__init__(f"step {step}: {type(cause).__name__}: {cause}")
        self.step, self.table, self.cause = step, table, cause
        last = traceback.extract_tb(cause.__traceback__)[-1]
        self.place = f"{last.filename.rpartition('site-packages/')[2].rpartition('src/')[2]}:{last.lineno}"
        self.kind = type(cause), self.place

    def reason(self) -> str:
        """Reason of the dead letter of a record that raises it."""
        cause = self.cause
        kind = f"{type(cause).__module__}.{type(cause).__qualname__}".removeprefix("builtins.")
        return f"step {self.step} failed unexpectedly with {kind} at {self.place}: {str(cause)[:_MOST_TEXT]}"


class PoisonPill(StageError):
    """A record that makes a step raise; `exception` is the class and the trace of what it raises."""

    def __init__(self, raised: Unforeseen) -> None:
        cause = raised.cause
        kind = f"{type(cause).__module__}.{type(cause).__qualname__}".removeprefix("builtins.")
        super().__init__(_STAGES[raised.step], raised.place.rpartition(":")[0], raised.reason())
        self.exception = kind, "".join(traceback.format_exception(cause))
        self.kind = raised.kind


class PoisonPills:
    """The poison pills of a task, by table and record; the empty table stands for all."""

    def __init__(self) -> None:
        self._found: dict[str, dict[Coordinates, PoisonPill]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._found.values()))

    @property
    def records(self) -> int:
        """Records that are one, of whichever table."""
        return len({at for noted in self._found.values() for at in noted})

    @property
    def kinds(self) -> set[tuple[type[BaseException], str]]:
        """Exceptions that they raise, and where."""
        return {pill.kind for noted in self._found.values() for pill in noted.values()}

    def add(self, rows: Rows, index: int, raised: Unforeseen) -> bool:
        """Note the record of a row; False when it is noted already."""
        at = rows.topic, rows.partition, int(rows.offsets[index])
        noted = self._found.setdefault(raised.table, {})
        if at in noted:
            return False
        noted[at] = PoisonPill(raised)
        return True

    def of_all_tables(self) -> dict[Coordinates, PoisonPill]:
        """Pills that no table can have."""
        return dict(self._found.get("", {}))

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
