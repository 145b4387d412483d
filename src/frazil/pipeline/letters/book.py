"""The dead letters of a running connector: each is written once, though its record may be read again."""

import logging
from collections.abc import Iterable, Sequence, Set

from frazil.errors import FrazilError
from frazil.pipeline.letters.deadletter import Coordinates, DeadLetter, DeadLetterQueue, Refusal
from frazil.pipeline.letters.log import LetterLog
from frazil.pipeline.letters.marks import Marks
from frazil.pipeline.letters.ranges import by_partition
from frazil.pipeline.offsets import Offsets

logger = logging.getLogger(__name__)


class LetterBook:
    """Book of the dead letters that are written; used from one thread. Without `queue` bad records are refused."""

    def __init__(self, queue: DeadLetterQueue | None, bootstrap: str, connector: str) -> None:
        self._queue = queue
        self._bootstrap = bootstrap
        self._connector = connector
        self._written: dict[Refusal, list[Coordinates]] = {}
        self._earlier: Set[Refusal] = frozenset()
        """Refusals whose dead letters an earlier run has written."""
        self._ends: Marks = {}
        self._told: set[str] = set()
        """Exceptions that nothing has foreseen, and that the log has."""

    @property
    def tolerant(self) -> bool:
        """Whether bad records become dead letters."""
        return self._queue is not None

    @property
    def written(self) -> Set[Refusal]:
        """Refusals of records that may be read again."""
        return self._written.keys()

    def marks(self, end: Offsets) -> Marks:
        """Marks for a later `start` that reads on from `end`: dead letters of its records are there or above."""
        marks = dict(self._ends)
        later = (places for refusal, places in self._written.items() if refusal[2] >= end.get(refusal[:2], 0))
        for topic, partition, offset in (place for places in later for place in places):
            marks[topic, partition] = min(offset, marks.get((topic, partition), offset))
        return marks

    def start(self, topics: Iterable[str], since_ms: int | None, begin: Offsets, marks: Marks | None = None) -> None:
        """Look up what was written for records from `begin` on, which are read again.

        It is looked for from the marks on, and since a time, if at all, in topics that have none. Raises
        ServiceUnavailable when the dead-letter topics cannot be read.
        """
        if self._queue is not None:
            self._written, self._ends = self._queue.written_for(topics, begin, marks or {}, since_ms)
            self._earlier = frozenset(self._written)

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Write those that are new, and return when they are acknowledged. Raises as `DeadLetterQueue.write` does."""
        new = [letter for letter in letters if letter.refusal not in self._written]
        if new and self._queue is not None:
            places = self._queue.write(new)
            self._written |= {refusal: [place] for refusal, place in places.items()}
            for topic, partition, offset in places.values():
                self._ends[topic, partition] = max(offset + 1, self._ends.get((topic, partition), 0))
            for letter in new:
                self._tell(letter)

    def _tell(self, letter: DeadLetter) -> None:
        """Log an exception that nothing has foreseen, with its trace, the first time it raises."""
        if letter.exception is None or str(letter.origin) in self._told:
            return
        self._told.add(str(letter.origin))
        logger.error(
            "connector %s: a record is a dead letter by an exception that nothing has foreseen; the connector goes on. "
            "Please report it with the record's kind of value. %s\n%s",
            self._connector,
            letter,
            letter.exception[1],
        )

    def forget(self, end: Offsets) -> None:
        """Records below these offsets are not read again."""
        self._written = {r: places for r, places in self._written.items() if r[2] >= end.get(r[:2], 0)}

    def close_stored(self, table: str, dead: Set[Refusal], low: Offsets, ceiling: Offsets) -> None:
        """Mark the dead letters of an earlier run that ended before its commit, whose records are stored by now.

        `table` is empty where letters name none; `dead` are the refusals of this run, over `low` to `ceiling`.
        """
        stored = [
            refusal
            for refusal, places in self._written.items()
            if refusal in self._earlier and refusal[3] == table and refusal not in dead
            if low.get(refusal[:2], 0) <= refusal[2] < ceiling.get(refusal[:2], 0)
        ]
        if not stored:
            return
        try:
            places = by_partition(place for refusal in stored for place in self._written.pop(refusal))
            LetterLog(self._bootstrap).close([], places, "replayed")
        except FrazilError as error:
            logger.warning(
                "connector %s has stored records whose dead letters stay open; drop these before you replay others "
                "(deadletters drop --connector %s): %s",
                self._connector,
                self._connector,
                error,
            )
