"""The rows of a statement in the tasks that write them: what they are from, and the result for their table."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from frazil.connectors.sql.columns import shape_of
from frazil.connectors.sql.scan import Scanned
from frazil.connectors.sql.statement import PLACE
from frazil.errors import ConfigError, TerminalError
from frazil.pipeline.computed import Computed, Places
from frazil.pipeline.convert.origins import with_origins, without_origins
from frazil.pipeline.offsets import TopicPartition
from frazil.pipeline.results import TableResult, TaskResult, combine
from frazil.pipeline.rows import Int64s
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import Bounds, TaskSpec
from frazil.pipeline.types import Struct

_ROWS_OF_A_BATCH = 32


@dataclass(frozen=True)
class Write:
    """Writes rows of a statement over `topics`, as a task does that has a spec; picklable."""

    spec: TaskSpec
    topics: Sequence[str]

    def __call__(self, rows: pa.Table) -> tuple[TaskResult, Mapping[TopicPartition, Int64s]]:
        """Give the result, and the offsets of the records that gave a row, each once."""
        places, computed = places_of_rows(rows), computed_rows(rows)
        chunks = list(computed.chunks(places, self.topics))
        result = run(iter(chunks), replace(self.spec, computed=computed))
        return result, offsets_of(((each.topic, each.partition), each.offsets) for each in chunks)


def places_of_rows(rows: pa.Table) -> Places:
    """The places of the records that rows are from. Raises ConfigError where a function of Python took them away."""
    place = rows.column(PLACE).combine_chunks()
    offsets = place.flatten()
    if any(each.null_count for each in offsets):
        raise ConfigError(
            f"frazil.python gives rows with null in their column {PLACE}, which tells the record that a row is from. "
            "Nothing of the batch was stored. Let the function keep the column as it is"
        )
    return Places(*(each.to_numpy().astype(np.int64) for each in offsets))


def places_of_none(count: int, batch: int = 0) -> Places:
    """Places for rows that are from no record of their own: of the first topic, those of a later batch behind."""
    nothing = np.zeros(count, np.int64)
    return Places(nothing, nothing, (batch << _ROWS_OF_A_BATCH) + np.arange(count), nothing)


def offsets_of(parts: Iterable[tuple[TopicPartition, Int64s]]) -> dict[TopicPartition, Int64s]:
    """Give the offsets of parts by topic and partition, each once."""
    found = defaultdict[TopicPartition, list[Int64s]](list)
    for key, offsets in parts:
        found[key].append(offsets)
    return {key: np.unique(np.concatenate(several)) for key, several in found.items()}


def typed_structs(rows: pa.Table) -> tuple[pa.ChunkedArray, Struct]:
    """Take the rows as structs, with the types by which `json_rows` writes them."""
    structs = rows.to_struct_array()
    shape = without_origins(shape_of(structs.type)[0])
    typed = with_origins(shape, shape)
    assert isinstance(typed, Struct)  # noqa: S101 - it is one
    return structs, typed


def computed_rows(rows: pa.Table) -> Computed:
    """Take the rows, without their places where they have any."""
    own = rows.select([name for name in rows.column_names if name != PLACE]).to_struct_array().combine_chunks()
    struct = own if isinstance(own, pa.StructArray) else pa.concat_arrays(own.chunks)
    shape, stored = shape_of(struct.type)
    assert isinstance(shape, Struct)  # noqa: S101 - it is one
    return Computed(struct if struct.type == stored else struct.cast(stored), shape)


@dataclass(frozen=True)
class WriteOfNone:
    """Writes rows that are from no record of their own, of a batch that has a number, as a task does; picklable.

    A later batch's rows are later changes.
    """

    spec: TaskSpec
    topic: str
    batch: int = 0

    def __call__(self, rows: pa.Table) -> TaskResult:
        computed, (table,) = computed_rows(rows), self.spec.tables
        spec = replace(
            self.spec, tables=(replace(table, bounds=Bounds()),), transforms=None, envelope=None, computed=computed
        )
        return run(computed.chunks(places_of_none(rows.num_rows, self.batch), [self.topic]), spec)


def discovered(table: str, columns: Struct) -> TaskResult:
    """Tell the columns of the rows, for a table that is to be made."""
    return TaskResult({table: TableResult(unknown={(field.name,): field.type for field in columns.fields})})


def result_of_none(table: str, scanned: Sequence[Scanned], written: Sequence[TaskResult]) -> TaskResult:
    """Combine what became of records and of rows that are from none of their own; records count as in the state.

    Raises TerminalError for a row that the table refuses.
    """
    result = combine(written)
    own = result.tables.setdefault(table, TableResult())
    if own.dead:
        raise TerminalError(
            f"table {table} refuses a row of the statement, which is no record's alone: "
            f"{own.dead[0].path}: {own.dead[0].reason}. Nothing of the batch was stored. Correct the statement or the "
            "table, then restart the connector"
        )
    own.read, own.next_offsets, own.last_timestamps = 0, {}, {}
    for each in scanned:
        own.add(each.result)
        own.read += each.given
        own.skipped["state"] += each.given
        result.bytes_read += each.size
    return result
