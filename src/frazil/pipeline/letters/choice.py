"""Choice of dead letters by a command."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from frazil.errors import UsageError
from frazil.pipeline.letters.letter import Letter, described


@dataclass(frozen=True)
class Choice:
    """Conditions that a dead letter has to meet, all of them; what is None or empty does not count.

    `reason` is a text, or a regular expression, that is found in the column and reason of the dead letter, in any case.
    `since` is included, `until` is not; both are compared with the time of the dead letter. `limit` is how many are
    taken at most.
    """

    connector: str | None = None
    reason: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int | None = None

    @property
    def since_ms(self) -> int | None:
        """`since` in epoch milliseconds."""
        return None if self.since is None else _milliseconds(self.since)

    def check(self) -> None:
        """Raises UsageError for a reason that is no expression."""
        self._test()

    def of(self, letters: Iterable[Letter]) -> Iterator[Letter]:
        """The dead letters that are meant, in their order. Raises UsageError as `check` does."""
        return islice(filter(self._test(), letters), self.limit)

    def _test(self) -> Callable[[Letter], bool]:
        since, until = self.since_ms, None if self.until is None else _milliseconds(self.until)
        fits = None if self.reason is None else _reason(self.reason)

        def test(letter: Letter) -> bool:
            return (
                (self.connector is None or letter.connector == self.connector)
                and (since is None or letter.timestamp >= since)
                and (until is None or letter.timestamp < until)
                and (fits is None or fits(described(*letter.cause)))
            )

        return test


def _reason(wanted: str) -> Callable[[str], bool]:
    """Text counts as it stands, also where it is no expression; what is neither found as one nor one is an error."""
    text = wanted.casefold()
    try:
        expression = re.compile(wanted, re.IGNORECASE | re.DOTALL)
    except re.error as error:
        if not any(c in wanted for c in "\\^$|?*+"):
            return lambda reason: text in reason.casefold()
        raise UsageError(f"--reason {wanted!r} is no regular expression: {error}") from None
    return lambda reason: text in reason.casefold() or expression.search(reason) is not None


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
