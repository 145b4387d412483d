"""Finds rows that do not tell which record they are by their contents, in any order."""

from collections import Counter
from collections.abc import Iterable, Sequence

from frazil.connectors.checks.expected import Expected
from frazil.connectors.checks.result import RangeCheck, Sum
from frazil.text.amounts import counted


def match(
    batches: Iterable[Sequence[int]],
    ranges: Sequence[Expected],
    *,
    whole: bool,
    dead: Counter[int] | None = None,
    replayed: int = 0,
) -> None:
    """Count the rows of a table, given by their digests, for records of the same contents that are expected.

    A row is of a record that was not found yet if there is any; else of one with a dead letter, as `dead` has them by
    digest, which is stored after all then; else one too many of a record. Any other is foreign, or unknown when the
    ranges are not the `whole` of what the table has. What is of no range counts for the first one. Of the foreign ones
    as many as `replayed` tells, less those that `dead` has, are rows of dead letters that are made otherwise by now.
    """
    if not ranges:
        return
    first, spare, foreign = ranges[0], Counter(dead or ()), Sum()
    for each in ranges:
        each.close()
    for digests in batches:
        places = [each.ranges(digests) for each in ranges]
        for index, one in enumerate(digests):
            alike = [(each, *of[index]) for each, of in zip(ranges, places, strict=True) if of[index][0] < of[index][1]]
            if any(each.take(begin, end) for each, begin, end in alike):
                continue
            if spare[one] > 0:
                spare[one] -= 1
                replayed -= 1
                _store_after_all(first.check, 1)
                first.total.add(one)
            elif alike:
                each, begin, _ = alike[0]
                each.count(begin)
                continue
            elif not whole:
                first.check.unknown += 1
                continue
            else:
                first.check.foreign += 1
                foreign.add(one)
            first.found.add(one)
    differing = min(first.check.foreign, first.check.dead, max(replayed, 0))
    if not differing:
        return
    first.check.foreign -= differing
    _store_after_all(first.check, differing)
    first.check.notes.append(
        f"{counted(differing, 'row')} of {first.check.target}, stored by a replay of dead letters, "
        f"{'differs' if differing == 1 else 'differ'} from what the connector would make of the record now"
    )
    if not first.check.foreign:  # else it is not known which of them are of the replay
        first.total.add(foreign.value)


def _store_after_all(check: RangeCheck, count: int) -> None:
    """Count records with dead letters as stored."""
    check.dead -= count
    check.expected += count
    check.stored += count
