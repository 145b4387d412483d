"""A statement over parts of a few records, to find those that it fails on.

Spark takes a tenth of a second to plan a statement, and a few milliseconds for a task of it. So the statement is
planned once, over a relation whose every partition holds another part of the records: partition 1 has all of them, 2
and 3 a half each, 4 to 7 a quarter each, down to single records. A job runs the partitions that make up the part in
question. A UNION of branches has such partitions for each of them, one branch behind the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from frazil.connectors.sql.statement import PLACE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rehearse: TypeAlias = Callable[[int, int, Sequence[int]], None]
"""Computes the rows of the records between two offsets, both included, without some of them."""
_ROW = "_frazil_row"
_LEVEL = "length(bin(id)) - 1"


def divided(session: SparkSession, batch: pa.RecordBatch) -> DataFrame:
    """Make a relation of rows, each partition of which has another part of them, and partition 0 none."""
    leaves = _leaves(batch)
    table = pa.Table.from_batches([batch]).append_column(_ROW, pa.array(range(batch.num_rows), pa.int64()))
    rows = session.createDataFrame(table).hint("broadcast")
    parts = session.range(0, 2 * leaves, 1, 2 * leaves).selectExpr(
        f"(id - shiftleft(1L, {_LEVEL})) * shiftright({leaves}L, {_LEVEL}) AS first",
        f"shiftright({leaves}L, {_LEVEL}) AS size",
    )
    own = parts.crossJoin(rows).where(f"{_ROW} >= first AND {_ROW} < first + size")
    # No expression of a statement is moved below a condition that is not deterministic, to all records at once.
    return own.where("spark_partition_id() >= 0").select(*batch.schema.names)


def rehearsed(frame: DataFrame, batch: pa.RecordBatch) -> Rehearse:
    """Plan a statement over `divided` rows. A call raises what Spark raises."""
    made: Any = frame
    rows = made._jdf.queryExecution().toRdd().toJavaRDD()  # noqa: SLF001 - DataFrame.rdd sends each row to Python
    context: Any = frame.sparkSession.sparkContext
    leaves, partitions = _leaves(batch), rows.getNumPartitions()
    offsets = batch.column(PLACE).field("offset").to_numpy()

    def rehearse(first: int, last: int, but: Sequence[int]) -> None:
        left, right = (int(at) for at in offsets.searchsorted([first, last + 1]))
        gone = offsets.searchsorted([at for at in but if at in offsets]).tolist()
        wanted = [
            number + branch
            for before, behind in pairwise([left - 1, *sorted(gone), right])
            for number in parts_of(before + 1, behind, leaves)
            for branch in range(0, partitions, 2 * leaves)
        ]
        if wanted:
            numbers = context._gateway.new_array(context._jvm.int, len(wanted))  # noqa: SLF001 - has no public name
            for index, number in enumerate(wanted):
                numbers[index] = number
            rows.collectPartitions(numbers)

    return rehearse


def parts_of(begin: int, end: int, leaves: int) -> Iterator[int]:
    """Give the numbers of the parts that make up the rows from `begin` to before `end`, the fewest that do."""
    begin, end = begin + leaves, end + leaves
    while begin < end:
        if begin % 2:
            yield begin
            begin += 1
        if end % 2:
            end -= 1
            yield end
        begin, end = begin // 2, end // 2


def _leaves(batch: pa.RecordBatch) -> int:
    last: int = batch.num_rows - 1
    return 1 << last.bit_length()
