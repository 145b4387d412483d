"""Judges records by what a statement makes of them, with nothing written anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from confluent_kafka import Message
from pyiceberg.catalog import Catalog

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.tools.sample import judge
from frazil.connectors.sample import Judged, Sample
from frazil.connectors.sql.config import StatementConfig
from frazil.connectors.sql.reference import ReferenceTables
from frazil.connectors.sql.runs import StatementRuns
from frazil.connectors.sql.scan import scanned_topics
from frazil.connectors.sql.write import computed_rows, places_of_none, places_of_rows
from frazil.pipeline.executor import Executor
from frazil.pipeline.letters.letter import described
from frazil.pipeline.rows import Rows, by_partition


def sample(
    config: IcebergSinkConfig,
    own: StatementConfig,
    catalog: Catalog,
    records: Sequence[Message],
    most_rows: int,
    executor: Executor,
) -> Sample:
    """Compute the rows of records, and judge these; show at most `most_rows` of them.

    Raises as `StatementRuns` does, and as the sample of the Iceberg sink.
    """
    tables, state = ReferenceTables(catalog, own.statement.tables), own.statement.state
    runs = StatementRuns(own.statement, scanned_topics(config, own), executor, tables.read, own.state)
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
        found = judge(config, gave, most_rows, computed)
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
                found.judged.append(Judged(*at, config.tables[0], "dead letter", dead[at]))
            elif at not in told:
                why = "the record is in the state of the statement" if state else "the statement has no row for it"
                why = "tombstone" if value is None else why
                found.judged.append(Judged(*at, config.tables[0], "skipped", why))
    found.judged.sort(key=lambda one: (one.topic, one.partition, one.offset))
    return found
