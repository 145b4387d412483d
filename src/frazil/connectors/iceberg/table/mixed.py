"""New columns that are text because a few records have a value of another kind than all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from frazil.pipeline.convert.data_keys import nodes
from frazil.pipeline.convert.infer import Path, Seen
from frazil.pipeline.types import STRING, Type

_FEW = 0.1
"""The share of records up to which values of other kinds are odd ones."""
_NUMBERS = ("double", "long")


def mixed(columns: Mapping[Path, Type], seen: Seen) -> Iterator[str]:
    """Warnings about columns that a few odd records make text for good, with the key that keeps their type."""
    kinds: dict[Path, Counter[str]] = {}
    for (path, kind), count in seen.items():
        kinds.setdefault(path, Counter())[kind] += count
    for path, type_ in nodes(columns):
        found = kinds.get(path, Counter())
        if len(found) > 1 and type_ == STRING:
            numbers = [kind for kind in _NUMBERS if kind in found]
            whole = sum(found[kind] for kind in numbers)
            common, most = max([*found.items(), *((kind, whole) for kind in numbers[:1])], key=lambda one: one[1])
            total = found.total()
            if common != "string" and most >= (1 - _FEW) * total:
                name = ".".join(path)
                way = f"frazil.schema.path.{name}={common} keeps that type" if common not in ("object", "array") else ""
                yield (
                    f"column {name} becomes text for good, since {total - most:,} of {total:,} records have another "
                    f"value there than {common}. {way or 'Correct the producer'}: these records are dead letters then"
                )
