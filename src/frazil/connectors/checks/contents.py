"""Finds rows that do not tell which record they are by their contents, in any order."""

from collections import Counter
from collections.abc import Iterable, Sequence

from frazil.connectors.checks.expected import Expected


def match(
    batches: Iterable[Sequence[int]], ranges: Sequence[Expected], *, whole: bool, dead: Counter[int] | None = None
) -> None:
    """Count the rows of a table, given by their digests, for records of the same contents that are expected.

    A row is of a record that was not found yet if there is any; else of one with a dead letter, as `dead` has them by
    digest, which is stored after all then; else one too many of a record. Any other is foreign, or unknown when the
    ranges are not the `whole` of what the table has. What is of no range counts for the first one.
    """
    if not ranges:
        return
    first, spare = ranges[0], Counter(dead or ())
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
                first.check.dead -= 1
                first.check.expected += 1
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
            first.check.stored += 1
            first.found.add(one)
