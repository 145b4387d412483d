"""Compares ranges of topics with the rows of a Delta table, by their contents and in any order."""

from collections.abc import Iterator

import pyarrow as pa

from frazil.connectors.checks.compare import Part, Progress
from frazil.connectors.checks.contents import match
from frazil.connectors.checks.expected import Expected
from frazil.connectors.checks.result import RangeCheck, row_digests
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.config.partitioner_keys import TIME_COLUMNS
from frazil.connectors.objects.delta.table import DeltaTarget
from frazil.connectors.objects.provenance import MEMBER
from frazil.connectors.objects.records import Records
from frazil.connectors.objects.verify import Judged
from frazil.pipeline.convert.decode import DecodeSpec, decoder


class DeltaCheck(Judged):
    """Compares records with the rows of a table that was started; see `RangeCheck` for what it finds."""

    def __init__(self, config: ObjectSinkConfig, part: Part, table: DeltaTarget) -> None:
        super().__init__(config, f"s3://{config.store.bucket}/{config.layout.topics_dir}", part)
        self._table = table
        self._decoder = decoder(DecodeSpec(table.columns.struct, evolve=False))
        names = [field.name for field in table.columns.struct.fields]
        self._compared = [name for name in names if name not in (MEMBER, *TIME_COLUMNS)]
        self._divided = set(config.partitioning.fields)

    def _expect(self, expected: Expected, records: Records) -> None:
        check = expected.check
        texts, offsets = records.texts.to_pylist(), records.offsets.tolist()
        decoded = self._decoder.decode(texts)
        check.skipped += len(decoded.skipped)
        for index, error in decoded.rejected:
            check.refuse(offsets[index], error)
        check.expected += decoded.table.num_rows
        digests = dict(zip(decoded.positions, self._digests(decoded.table), strict=True))
        for position in sorted(digests):
            expected.add(offsets[position], digests[position])

    def finish(self, progress: Progress) -> list[RangeCheck]:
        """See `Judged`. Raises ServiceUnavailable."""
        progress("rows of the table", 0, 0)
        ranges = list(self._ranges.values())
        rows = self._table.rows(self._compared)
        match((list(self._digests(batch)) for batch in rows), ranges, whole=self._part.everything)
        return [expected.conclude(compared=True) for expected in ranges]

    def _digests(self, rows: pa.Table | pa.RecordBatch) -> Iterator[int]:
        return row_digests(rows, self._compared, self._divided)
