"""Compares ranges of topics with the rows of a Delta table, by their contents and in any order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa

from frazil.connectors.checks.expected import Expected
from frazil.connectors.checks.result import RangeCheck, row_digests
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.config.partitioner_keys import TIME_COLUMNS
from frazil.connectors.objects.judged import Judged
from frazil.connectors.objects.provenance import MEMBER
from frazil.pipeline.convert.decode import DecodeSpec, decoder
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.rows import Rows
from frazil.pipeline.types import Struct


class DeltaCheck:
    """Takes the records of ranges, then the rows of the table; see `RangeCheck` for what it finds.

    `dead` are the records that have dead letters. With `whole` the ranges are all that the table has.
    """

    def __init__(
        self,
        config: ObjectSinkConfig,
        columns: Struct,
        begin: Offsets,
        end: Offsets,
        dead: Collection[tuple[str, int, int]],
        *,
        whole: bool = True,
    ) -> None:
        self._columns = columns
        self._whole = whole and not any(begin.values())
        self._judged = Judged(config, f"s3://{config.store.bucket}/{config.layout.topics_dir}", begin, end, dead)
        self._ranges = self._judged.ranges
        self._divided = set(config.partitioning.fields)

    @property
    def compared(self) -> list[str]:
        """The columns that are compared."""
        return [field.name for field in self._columns.fields if field.name not in (MEMBER, *TIME_COLUMNS)]

    def take(self, rows: Rows) -> None:
        """Take rows of one Kafka partition, in order."""
        taken = self._judged.take(rows)
        if taken is None:
            return
        expected, records = taken
        check = expected.check
        texts, offsets = records.texts.to_pylist(), records.offsets.tolist()
        decoded = decoder(DecodeSpec(self._columns, evolve=False)).decode(texts)
        check.skipped += len(decoded.skipped)
        for index, error in decoded.rejected:
            check.refuse(offsets[index], error)
        check.expected += decoded.table.num_rows
        digests = dict(zip(decoded.positions, self._digests(decoded.table), strict=True))
        for position in sorted(digests):
            expected.add(offsets[position], digests[position])

    def finish(self, batches: Iterable[pa.RecordBatch]) -> list[RangeCheck]:
        """Look at the rows of the table, with the compared columns."""
        ranges = list(self._ranges.values())
        for expected in ranges:
            expected.close()
        for batch in batches:
            digests = list(self._digests(batch))
            found = [expected.ranges(digests) for expected in ranges]
            for index, one in enumerate(digests):
                places = [(expected, *of[index]) for expected, of in zip(ranges, found, strict=True)]
                self._match(one, [place for place in places if place[1] < place[2]])
        return [expected.conclude(compared=True) for expected in ranges]

    def _match(self, one: int, candidates: list[tuple[Expected, int, int]]) -> None:
        """Count a row for one of the records that it may be, one that was not found yet if there is any."""
        chosen = [(expected, expected.after(begin, end, -1)) for expected, begin, end in candidates]
        fresh = [(expected, place) for expected, place in chosen if not expected.counts[place]]
        for expected, place in (fresh or chosen)[:1]:
            expected.counts[place] += 1
            expected.found.add(one)
            expected.check.stored += 1
        if not chosen:
            check = next(iter(self._ranges.values())).check
            if self._whole:
                check.foreign += 1
                check.stored += 1
            else:
                check.unknown += 1

    def _digests(self, rows: pa.Table | pa.RecordBatch) -> Iterator[int]:
        return row_digests(rows, self.compared, self._divided)
