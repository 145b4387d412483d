"""Columns of a table for what records bring: as many as it may have, by schema evolution."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig
from frazil.connectors.iceberg.table.evolve import evolve, evolved, has_column, possible_columns
from frazil.errors import ConfigError
from frazil.pipeline.convert.data_keys import NUMBERS, mixed_texts, nodes, way_on, with_fewer, with_maps
from frazil.pipeline.convert.infer import Path, Seen, column_count, records, typed
from frazil.pipeline.results import TableResult
from frazil.pipeline.types import List, Struct, Type, inner_types

MOST_NEW = "frazil.schema.max.new.columns"
MOST = "frazil.schema.max.columns"


@dataclass(frozen=True)
class Admitted:
    """The unknown fields that a table may get columns for, and why the others may not; empty when all may.

    `warnings` are about columns that are text because of a few records. `doubtful`: not all of these records may fit
    the fields.
    """

    fields: Mapping[Path, Type]
    refusal: str = ""
    warnings: tuple[str, ...] = ()
    doubtful: bool = False


def admit(config: IcebergSinkConfig, schema: Schema | None, unknown: Mapping[Path, Type], seen: Seen) -> Admitted:
    """Choose the columns that the unknown fields of a batch become; `schema` is None for a table to be made.

    Objects whose keys are data become maps, but for those whose members the configuration names. When there are too
    many columns all the same, the objects whose keys grow with the records do, then those come first that most records
    have, member by member; `seen` says how many have one. Of names that differ in case only the one that most records
    have counts. Columns that only get wider are always among the chosen. The order is that of `unknown`.
    """
    unknown = typed(unknown)
    have = Schema() if schema is None else schema
    counts = records(seen)
    fixed = _with_named_members(config)
    possible = possible_columns(have, with_maps(unknown, seen, fixed), by_count(sorted(unknown), counts))
    left = config.max_columns - len(have.column_names)
    if schema is not None:
        left = min(left, config.max_new_columns_per_batch)
    chosen = with_fewer(possible, seen, left, fixed)
    refusal = ""
    if sum(map(column_count, chosen.values())) > left:
        kept = _first(chosen, counts, left)
        refused = {path: type_ for path, type_ in chosen.items() if kept.get(path) != type_}
        chosen, refusal = kept, _refusal(config, refused)
    wider = {path: type_ for path, type_ in unknown.items() if has_column(have, path)}
    fields = {path: found for path in unknown if (found := chosen.get(path) or wider.get(path))}
    return Admitted(fields, refusal, tuple(mixed(chosen, seen)), fields != unknown or _has_mixed_numbers(seen))


def _has_mixed_numbers(seen: Seen) -> bool:
    """Whether numbers of several kinds are to go into one column: one of them may lose digits there."""
    kinds = Counter(path for path, kind in seen if kind in NUMBERS)
    return max(kinds.values(), default=0) > 1


def _with_named_members(config: IcebergSinkConfig) -> set[Path]:
    """The objects whose members have types of their own, are partition fields, or identify rows."""
    creation, changes = config.creation, config.row_changes
    terms = [*creation.partitions, *(term for own in creation.partitions_of.values() for term in own)]
    paths = [*config.column_types, *(tuple(term.column.split(".")) for term in terms)]
    if changes is not None:
        paths += [*changes.default_id_columns, *(path for own in changes.id_columns.values() for path in own)]
    return {path[:depth] for path in paths for depth in range(1, len(path))}


def by_count(paths: Iterable[Path], counts: Mapping[Path, int]) -> list[Path]:
    """The paths that most records have first; of equal ones as they were."""
    return sorted(paths, key=lambda path: -counts.get(path, 0))


def _refusal(config: IcebergSinkConfig, refused: Mapping[Path, Type]) -> str:
    """The reason for records with columns that a table does not get: the same one for all of a cause."""
    most_new = config.max_new_columns_per_batch
    limits = f"{MOST} allows {config.max_columns:,}, and {MOST_NEW} {most_new:,} more at a time"
    return f"the table can have no more columns: {limits}{way_on(refused)}"


def _first(columns: Mapping[Path, Type], counts: Counter[Path], most: int) -> dict[Path, Type]:
    """Take as many of the columns as there may be, with the members that most records have."""
    order = sorted((path for path, _ in nodes(columns)), key=lambda path: (-counts[path], len(path), path))
    taken: set[Path] = set()
    for path in order:
        if len(taken) >= most:
            break
        if path in columns or path[:-1] in taken:
            taken.add(path)
    kept = {path: _pruned(path, type_, taken) for path, type_ in columns.items() if path in taken}
    return {path: type_ for path, type_ in kept.items() if type_ is not None}


def _pruned(path: Path, type_: Type, taken: set[Path]) -> Type | None:
    """The type without what is not taken; None when nothing is left of it."""
    match type_:
        case Struct(fields):
            kept = [(f, _pruned((*path, f.name), f.type, taken)) for f in fields if (*path, f.name) in taken]
            members = tuple(replace(f, type=found) for f, found in kept if found is not None)
            return replace(type_, fields=members) if members else None
        case List(element):
            inside = (*path, "element")
            found = _pruned(inside, element, taken) if inside in taken else None
            return None if found is None else replace(type_, element=found)
        case _:
            return type_ if all((*path, name) in taken for name, _ in inner_types(type_)) else None


_FEW = 0.1
"""The share of records up to which values of other kinds are odd ones."""
_NUMBERS = ("double", "long")


def mixed(columns: Mapping[Path, Type], seen: Seen) -> Iterator[str]:
    """Warnings about columns that a few odd records make text for good, with the key that keeps their type."""
    for path, found in mixed_texts(columns, seen):
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


@dataclass(frozen=True)
class Widened:
    """The schema of a table with new columns, and why it got no more of them; empty when it got all.

    `warnings` and `doubtful` are those of `Admitted`.
    """

    schema: Schema
    refusal: str
    warnings: tuple[str, ...] = ()
    doubtful: bool = False


def widen(
    config: IcebergSinkConfig,
    table: Table,
    result: TableResult,
    catalog: Catalog | None,
    *,
    schema: Schema | None = None,
    ending: str,
) -> Widened:
    """Give a table what the records of a result lack in it; without `catalog` only tell what it would be.

    `schema` is what the records were judged by, that of the table when it is left out. Raises ConfigError, whose text
    has `ending` for what is left and what to do, when that changes nothing; else as `evolve` does.
    """
    before = table.schema() if schema is None else schema
    admitted = admit(config, before, result.unknown, result.seen)
    if catalog is None:
        now = evolved(table, admitted.fields, result.absent)
    else:
        now = evolve(catalog, table, admitted.fields, result.absent).schema()
    if now == before and not admitted.refusal:
        names = ", ".join(repr(".".join(path)) for path in sorted(typed(result.unknown)))
        raise ConfigError(f"{'.'.join(table.name())} cannot have columns for the unknown fields {names}; {ending}")
    return Widened(now, admitted.refusal, admitted.warnings, admitted.doubtful)
