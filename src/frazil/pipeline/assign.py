"""Assignment of the values of a chunk, one by one and in columns, to the tables that a route has for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.route import Assigned, Router
from frazil.pipeline.transforms.unread import Unread
from frazil.pipeline.values import Columns, Ints, Part, Values


@dataclass
class Routed:
    """Values by the table that they go to, which may be several; counts and failures of those that go to none."""

    tables: dict[str, Values] = field(default_factory=dict)
    unrouted: int = 0
    tombstones: int = 0
    failed: list[tuple[int, ConversionError]] = field(default_factory=list)

    def put(self, name: str, part: Values) -> None:
        """Add values of a table: one by one for a new one, columns for any."""
        known = self.tables.get(name)
        self.tables[name] = part if known is None else replace(known, columns=[*known.columns, *part.columns])


def assign(route: Router, topic: str, values: Values) -> Routed:
    """Find the tables of values; `topic` is that which was read."""
    grouped: list[tuple[Part, tuple[Assigned, Ints] | None]] = []
    for part in values.columns:
        if isinstance(part, Unread) and not route.rule.topic_pattern and part.keeps(route.rule.path[0]):
            grouped += _by_records(route, part)
        else:
            grouped.append((part, _grouped(route, topic, part)))
    result = Routed()
    others = replace(values, columns=[each for each, groups in grouped if groups is None]).one_by_one()
    values, result.failed = others.values, list(others.failed)

    def topics() -> Sequence[str]:
        return [topic] * len(values.values) if values.topics is None else values.topics

    assigned = route.assign(values.values, topics)
    for name, indexes in assigned.tables.items():
        result.put(name, values.only(indexes))
    result.unrouted, result.tombstones = len(assigned.unrouted), len(assigned.tombstones)
    result.failed += [(values.position(index), error) for index, error in assigned.failed]
    for each, groups in grouped:
        if groups is not None:
            _put(result, each, *groups)
    return result


def _by_records(route: Router, part: Unread) -> Iterator[tuple[Part, tuple[Assigned, Ints] | None]]:
    """Read the route's field of records that are still JSON; those that go to one table are assigned."""
    found = route.assign([part.value(number) for number in range(len(part))], lambda: [])
    counts = np.zeros(len(part), np.int64)
    for indexes in found.tables.values():
        counts[indexes] += 1
    clean, others = np.flatnonzero(counts == 1), np.flatnonzero(counts != 1)
    yield part.only(clean), (Assigned(found.tables), clean)
    yield part.only(others), None


def _grouped(route: Router, topic: str, columns: Part) -> tuple[Assigned, Ints] | None:
    """Assign one record for all that are alike; and the one for each row. None where that takes the records."""
    path = route.rule.path
    if route.rule.topic_pattern:
        names = [topic] if columns.topics is None else sorted(set(columns.topics))
        given = columns.topics or [topic] * len(columns)
        assigned = route.assign([b""] * len(names), lambda: names)
        if assigned.failed and not isinstance(columns, Columns):
            return None
        return assigned, np.array([names.index(one) for one in given])
    if not isinstance(columns, Columns):
        return None
    found: pa.Array = columns.struct
    for name in path:
        place = found.type.get_field_index(name) if pa.types.is_struct(found.type) else -1
        if place < 0 or found.null_count:
            return None
        found = found.field(place)
    if not pa.types.is_string(found.type):
        return None
    encoded = found.dictionary_encode(null_encoding="encode")
    records = [msgspec.json.encode(_nested(path, text)) for text in encoded.dictionary.to_pylist()]
    return route.assign(records, lambda: []), encoded.indices.to_numpy().astype(np.int64)


def _nested(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _put(result: Routed, columns: Part, assigned: Assigned, groups: Ints) -> None:
    def numbers(chosen: Sequence[int]) -> Ints:
        return np.flatnonzero(np.isin(groups, chosen))

    for name, chosen in assigned.tables.items():
        result.put(name, Values([], at=[], columns=[columns.only(numbers(chosen))]))
    result.unrouted += len(numbers(assigned.unrouted))
    for group, error in assigned.failed:
        result.failed += [(position, error) for position in columns.at[numbers([group])].tolist()]
