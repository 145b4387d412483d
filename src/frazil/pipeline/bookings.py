"""Counts of what became of records in a task, and the dead letters of those that cannot be stored."""

from collections.abc import Sequence

from frazil.pipeline.convert.strict import ConversionError, StageError
from frazil.pipeline.letters.deadletter import DeadLetter
from frazil.pipeline.poison import PoisonPill
from frazil.pipeline.results import SkipReason, TableResult
from frazil.pipeline.rows import Rows

MAX_DEAD_BYTES = 32 << 20
"""Dead letters that one task hands to the driver, one at least; the batch is divided when there are more."""
_LETTER_BYTES = 500
"""Bytes of a dead letter beside key, value and trace."""


class Bookings:
    """Counts and dead letters of the records that one table was to have, or that no table was to have."""

    def __init__(self) -> None:
        self.result = TableResult()
        self._dead_bytes = 0

    def refuse(self, rows: Rows, failed: Sequence[tuple[int, ConversionError]]) -> None:
        """Book records as dead letters."""
        dead = [dead_letter(rows, index, error) for index, error in failed]
        self.result.read += len(dead)
        self.result.dead += dead
        self._dead_bytes += sum(map(letter_bytes, dead))
        self.result.overflow = self._dead_bytes > MAX_DEAD_BYTES and len(self.result.dead) > 1

    def skip(self, reason: SkipReason, count: int) -> None:
        """Book records that give no row."""
        if count:
            self.result.read += count
            self.result.skipped[reason] += count


def letter_bytes(letter: DeadLetter) -> int:
    """Estimate the memory that a dead letter takes, in bytes."""
    trace = 0 if letter.exception is None else len(letter.exception[1])
    return _LETTER_BYTES + trace + len(letter.value or b"") + len(letter.key or b"")


def dead_letter(rows: Rows, index: int, error: ConversionError) -> DeadLetter:
    """Make the dead letter of a row from the error that refused it."""
    return DeadLetter(
        topic=rows.topic,
        partition=rows.partition,
        offset=int(rows.offsets[index]),
        timestamp=int(rows.stamps[index]),
        key=rows.keys[index],
        value=rows.values[index],
        headers=() if rows.headers is None else rows.headers[index],
        path=error.path,
        reason=error.reason,
        origin=error.origin if isinstance(error, StageError) else None,
        exception=error.exception if isinstance(error, PoisonPill) else None,
    )
