"""The rows of a statement in the tasks that write them: what they are from, and the result for their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from frazil.connectors.sql.columns import shape_of
from frazil.connectors.sql.scan import PLACE_TYPE
from frazil.connectors.sql.statement import PLACE
from frazil.pipeline.computed import Computed, Places
from frazil.pipeline.convert.origins import with_origins, without_origins
from frazil.pipeline.results import TaskResult
from frazil.pipeline.task import run
from frazil.pipeline.task_spec import TaskSpec
from frazil.pipeline.types import Struct

_ROWS_OF_A_BATCH = 32


@dataclass(frozen=True)
class Written:
    """Result of a task; `records` are the places of those that gave a row: topic, partition and offset, each once."""

    result: TaskResult
    records: np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Write:
    """Writes rows of a statement over `topics`, as a task does that has a spec; picklable."""

    spec: TaskSpec
    topics: Sequence[str]

    def __call__(self, rows: pa.Table) -> Written:
        places, computed = places_of_rows(rows), computed_rows(rows)
        result = run(computed.chunks(places, self.topics), replace(self.spec, computed=computed))
        return Written(result, np.unique(np.stack((places.topics, places.partitions, places.offsets)), axis=1))


def places_of_rows(rows: pa.Table) -> Places:
    """The places of the records that rows are from."""
    place = rows.column(PLACE).combine_chunks()
    return Places(*(place.field(name).to_numpy().astype(np.int64) for name in PLACE_TYPE.names))


def places_of_none(count: int, batch: int = 0) -> Places:
    """Places for rows that are from no record of their own: of the first topic, those of a later batch behind."""
    nothing = np.zeros(count, np.int64)
    return Places(nothing, nothing, (batch << _ROWS_OF_A_BATCH) + np.arange(count), nothing)


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
