"""Judges records by what a statement makes of them, with nothing written anywhere."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from confluent_kafka import Message

from frazil.connectors.keys.sink_config import SinkConfig
from frazil.connectors.sample import Judged, Sample, TableSample
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.connectors.sql.statement import PLACE
from frazil.connectors.sql.write import computed_rows, places_of_none, places_of_rows
from frazil.pipeline.computed import Computed
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.letter import described
from frazil.pipeline.rows import Rows, by_partition
from frazil.pipeline.transforms.absent import absent_fields

Judge: TypeAlias = Callable[[Sequence[Rows], Computed, int], Sample]
"""Judges computed rows, those of one record together, by what they are to be stored in; shows so many of them."""


def sample(
    config: SinkConfig,
    own: StatementConfig,
    tables: Callable[[], Sequence[pa.Table]],
    records: Sequence[Message],
    most_rows: int,
    executor: Executor,
    target: str,
    judge: Judge | None = None,
) -> Sample:
    """Compute the rows of records, and judge these, which are all stored without `judge`; show at most `most_rows`.

    `target` is the name of what they are to be stored in. Raises as `StatementRuns` and the judge do.
    """
    state = own.statement.state
    runs = StatementRuns(own, scanned_topics(config, own), executor, tables)
    chunks = list(by_partition(records))
    books, rows = runs.try_rows(chunks)
    gave: list[Rows] = []
    found = Sample()
    if rows.num_rows:
        computed = computed_rows(rows)
        places = places_of_none(rows.num_rows) if state else places_of_rows(rows)
        for chunk in computed.chunks(places, own.statement.topics if state else runs.names):
            cuts = np.flatnonzero(np.diff(chunk.offsets)) + 1
            gave += [chunk.take(part.tolist()) for part in np.split(np.arange(len(chunk)), cuts)]
        if judge is not None:
            found = judge(gave, computed, most_rows)
        else:
            shown = rows.slice(0, most_rows).drop_columns([PLACE]).to_pylist()
            found.tables.append(TableSample(target, rows=shown))
            found.judged += [
                Judged(each.topic, each.partition, int(each.offsets[0]), target, "stored") for each in gave
            ]
    if state:
        refused = [one for one in found.judged if one.verdict == "dead letter"]
        found.tables[:] = [replace(table, problem=refused[0].reason) if refused else table for table in found.tables]
        found.judged.clear()
    told = {(one.topic, one.partition, one.offset) for one in found.judged}
    dead = {letter.coordinates: described(letter.path, letter.reason) for letter in books.result.dead}
    for chunk in chunks:
        for offset, value in zip(chunk.offsets.tolist(), chunk.values, strict=True):
            at = chunk.topic, chunk.partition, offset
            if at in dead:
                found.judged.append(Judged(*at, target, "dead letter", dead[at]))
            elif at not in told:
                why = "the record is in the state of the statement" if state else "the statement has no row for it"
                why = "tombstone" if value is None else why
                found.judged.append(Judged(*at, target, "skipped", why))
    found.warnings += absent_fields(chunks, config.transforms, config.envelope)
    found.judged.sort(key=lambda one: (one.topic, one.partition, one.offset))
    return found
