"""Search for the poison pills of a task, and its run without them.

When a step raises, the records are read again and rehearsed in parts: a part that raises is halved, one that does not
is followed by one of twice the size. So a pill costs a number of rehearsals that grows with the logarithm of the
records, one of many pills in a row costs one or two, and each rehearsal has few records.

An exception that every record raises at the same place is the installation's or the table's, and a dead-letter topic
would get everything: the search ends when the first `ALIKE` records are pills that fail alike, and so are some of those
behind them, further and further away. One record among them that raises nothing, or something else, lets it go on.
"""

import logging
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TypeVar

from frazil.errors import TerminalError
from frazil.pipeline.poison import PoisonPill, PoisonPills, Unforeseen
from frazil.pipeline.rows import Rows

logger = logging.getLogger(__name__)

ALIKE = 100
"""Records that are enough to say, when all of them fail alike, that it is not their content."""

T = TypeVar("T")
Rehearse = Callable[[Rows, PoisonPills], object]


def tolerating(
    read: Callable[[], Generator[Rows]], run: Callable[[Iterable[Rows], PoisonPills], T], rehearse: Rehearse
) -> T:
    """Run a task over what `read` gives; poison pills are looked for when a step raises Unforeseen, and refused.

    `rehearse` does what `run` does with one chunk, and keeps nothing. Raises TerminalError, which names the records,
    for what no single record raises, and for what all of them raise.
    """
    try:
        with closing(read()) as chunks:
            return run(chunks, PoisonPills())
    except Unforeseen as error:
        logger.log(error.level, "%s at %s. The records that raise it are looked for.", error, error.place)
    search = _Search(read, rehearse)
    search.find()
    try:
        with closing(read()) as chunks:
            return run(chunks, search.pills)
    except Unforeseen as again:
        raise TerminalError(
            f"{again} at {again.place}, among {search.count:,} records from {search.first} on, and no record of them "
            "is the cause. Nothing of them was stored."
        ) from again.cause


class _Search:
    """A search through all records that `read` gives."""

    def __init__(self, read: Callable[[], Generator[Rows]], rehearse: Rehearse) -> None:
        self.pills = PoisonPills()
        self.count = 0
        """Records that were searched."""
        self.first = ""
        self._read = read
        self._rehearse = rehearse
        self._most = 0
        """Records of the next part."""
        self._mixed = False
        """Whether a record is no pill, or not like the others."""
        self._told = ALIKE

    def find(self) -> None:
        """Find the pills, so that a rehearsal of no chunk raises. Raises TerminalError as `tolerating` does."""
        with closing(self._read()) as chunks:
            for rows in chunks:
                self.first = self.first or _place(rows, 0)
                self._find(rows)

    def _find(self, rows: Rows) -> None:
        """Note the pills of a chunk: those that raise alone, then those that raise with records before them."""
        at, noted, whole = 0, -1, False
        self._most = self._most or len(rows)
        while at < len(rows):
            part = rows.take(range(at, min(at + self._most, len(rows))))
            raised = self._raised(part)
            if raised is None:
                whole = len(part) == len(rows)
                if at != noted:
                    self._mixed = True
                    self._most *= 2
                at += len(part)
            elif len(part) > 1:
                self._most = len(part) // 2
            else:
                self._note(rows, at, raised)
                noted = at
                at += not raised.table  # it may be one for other tables too
                if not self._mixed and self.pills.records >= ALIKE:
                    self._check_alike(raised, self.count + noted + 1)
        self.count += len(rows)
        while not whole and (raised := self._raised(rows)) is not None:
            self._note(rows, *self._last_needed(rows, raised))

    def _raised(self, rows: Rows) -> Unforeseen | None:
        try:
            self._rehearse(rows, self.pills)
        except Unforeseen as error:
            return error
        return None

    def _note(self, rows: Rows, index: int, raised: Unforeseen) -> None:
        if not self.pills.add(rows, index, raised):
            raise TerminalError(f"{raised} at {raised.place}, though the record is left out") from raised.cause
        if len(self.pills) == self._told:
            self._told *= 10
            logger.warning(
                "%s records that raise what nothing has foreseen were found so far, from %s to %s; the search goes on. "
                "The last one raised: %s at %s",
                f"{len(self.pills):,}",
                self.first,
                _place(rows, index),
                raised,
                raised.place,
            )

    def _check_alike(self, raised: Unforeseen, done: int) -> None:
        """Raise TerminalError when all of the first `done` records raise the same, and others that are tried do too."""
        self._mixed = True
        if len(self.pills.kinds) > 1:
            return
        seen, wanted, tried = 0, done, done
        with closing(self._read()) as chunks:
            for rows in chunks:
                last = rows.take([len(rows) - 1])
                while wanted < seen + len(rows):
                    found = self._raised(rows.take([wanted - seen]))
                    if found is None or found.kind != raised.kind:
                        return
                    wanted, tried = 2 * wanted - done + 1, tried + 1
                seen += len(rows)
        if seen > done:
            found = self._raised(last)
            if found is None or found.kind != raised.kind:
                return
        raise TerminalError(
            f"every one of {tried:,} records that were tried fails alike, from {self.first} on: "
            f"{PoisonPill(raised).reason}. None of them was stored, and none is a dead letter, since it is hardly "
            "their content. Look at the table, the configuration and the installation, then restart the connector."
        ) from raised.cause

    def _last_needed(self, rows: Rows, raised: Unforeseen) -> tuple[int, Unforeseen]:
        """Find the record that makes the rows before it raise, where rows raise together only: its index, and what."""
        passes, raises = 0, len(rows)
        while raises - passes > 1:
            middle = (passes + raises) // 2
            found = self._raised(rows.take(range(middle)))
            if found is None:
                passes = middle
            else:
                raises, raised = middle, found
        return raises - 1, raised


def _place(rows: Rows, index: int) -> str:
    return f"topic {rows.topic}, partition {rows.partition}, offset {rows.offsets[index]}"
