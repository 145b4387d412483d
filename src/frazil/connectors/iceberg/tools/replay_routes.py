"""Tables that a dead letter is for, where its connector has a route and the letter names none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.pipeline.letters.letter import described
from frazil.pipeline.prepare import prepare
from frazil.pipeline.route import router
from frazil.pipeline.rows import Rows


@dataclass(frozen=True)
class Routed:
    """Routes by index in all rows: the tables of a record, none for a skipped one, or why it cannot be routed."""

    tables: Mapping[int, list[str]] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)


def routed(chunks: Iterable[Rows], config: IcebergSinkConfig) -> Routed:
    """Transform and route records; `config` has a route."""
    assert config.route is not None  # noqa: S101 - else every record goes to every table
    tables: dict[int, list[str]] = {}
    failed: dict[int, str] = {}
    for rows in chunks:
        first = len(tables)
        tables |= {first + index: [] for index in range(len(rows))}
        prepared = prepare(rows, config.transforms, envelope=config.envelope)
        values = prepared.values
        topics = values.topics if values.topics is not None else [rows.topic] * len(rows)
        assigned = router(config.route).assign(values.values, lambda topics=topics: topics)  # type: ignore[misc]
        refused = [*prepared.failed, *((values.position(index), error) for index, error in assigned.failed)]
        failed |= {first + index: described(error.path, error.reason) for index, error in refused}
        for name, indexes in assigned.tables.items():
            for index in indexes:
                tables[first + values.position(index)].append(name)
    return Routed(tables, failed)
