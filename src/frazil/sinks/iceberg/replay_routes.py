"""Which tables a dead letter is for, where its connector has a route and the letter names none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from frazil.config.iceberg_sink import IcebergSinkConfig
from frazil.pipeline.letters.letter import described
from frazil.pipeline.prepare import prepare
from frazil.pipeline.route import router


@dataclass(frozen=True)
class Routed:
    """By index in the rows: the tables of a record, none for one that is left out, or why it cannot be routed."""

    tables: Mapping[int, list[str]] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)


def routed(rows: pa.RecordBatch, config: IcebergSinkConfig) -> Routed:
    """Transform and route records in the columns that Spark gives the tasks; `config` has a route."""
    assert config.route is not None  # noqa: S101 - else every record goes to every table
    prepared = prepare(rows, config.transforms, envelope=config.schemas_enable)
    values = prepared.values
    failed = {index: described(error.path, error.reason) for index, error in prepared.failed}
    topics = values.topics if values.topics is not None else rows.column("topic").to_pylist()
    assigned = router(config.route).assign(values, lambda: topics)
    failed |= {values.position(i): described(error.path, error.reason) for i, error in assigned.failed}
    tables: dict[int, list[str]] = {index: [] for index in range(rows.num_rows)}
    for name, indexes in assigned.tables.items():
        for index in indexes:
            tables[values.position(index)].append(name)
    return Routed(tables, failed)
