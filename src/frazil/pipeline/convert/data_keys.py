"""Objects whose keys are data: labels, ids, names of packages. They become one map instead of a column for each key.

Of such an object the keys grow with the records: many stand in one record alone. A wide object whose members come again
and again is a struct, however many they are.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace

from frazil.pipeline.convert.infer import MAP, Path, Seen, column_count, kind_of, records
from frazil.pipeline.types import STRING, List, Struct, Type, inner_types

_MANY = 20
"""Keys that stand in one record alone, from which on they are data where all values are of one kind."""
NUMBERS = ("int", "long", "float", "double", "decimal")
"""Kinds of numbers."""


def with_maps(columns: Mapping[Path, Type], seen: Seen, fixed: Set[Path] = frozenset()) -> dict[Path, Type]:
    """Make maps of the objects in new columns whose keys are data, but for those of `fixed`."""
    counts = records(seen)

    def are_data(path: Path, struct: Struct) -> bool:
        many = path not in fixed and _once(path, struct, counts) > _MANY
        return many and _grow(path, struct, counts) and _are_alike(struct)

    return {path: _changed(path, type_, are_data) for path, type_ in columns.items()}


def with_fewer(columns: Mapping[Path, Type], seen: Seen, most: int, fixed: Set[Path] = frozenset()) -> dict[Path, Type]:
    """Make maps of objects whose keys grow with the records, the widest first, until there are `most` columns.

    Those of `fixed` stay as they are, and there may be more columns in the end.
    """
    counts = records(seen)
    found = dict(columns)
    growing = [
        (column_count(struct), path)
        for path, struct in _structs(found)
        if path not in fixed and _once(path, struct, counts) > 1 and _grow(path, struct, counts)
    ]
    for _, widest in sorted(growing, reverse=True):
        if sum(map(column_count, found.values())) <= most:
            break
        found = {path: _changed(path, type_, lambda at, _: at == widest) for path, type_ in found.items()}  # noqa: B023
    return found


def bounded(columns: Mapping[Path, Type], most: int, seen: Seen | None = None) -> dict[Path, Type]:
    """Make maps of objects that have more members than a table may have columns; `seen` forgets these members."""

    def is_map(_: Path, struct: Struct) -> bool:
        return len(struct.fields) > most

    found = {path: _changed(path, type_, is_map) for path, type_ in columns.items()}
    if seen and found != columns:
        known = {path for path, _ in nodes(found)}
        for one in [one for one in seen if one[0] not in known]:
            del seen[one]
    return found


def nodes(columns: Mapping[Path, Type]) -> Iterator[tuple[Path, Type]]:
    """List columns with their paths, nested ones too."""
    for path, type_ in columns.items():
        yield path, type_
        yield from nodes({(*path, name): inner for name, inner in inner_types(type_)})


def mixed_texts(columns: Mapping[Path, Type], seen: Seen) -> Iterator[tuple[Path, Counter[str]]]:
    """Find the columns that are text because records have values of several kinds, with the records of each kind."""
    kinds: dict[Path, Counter[str]] = {}
    for (path, kind), count in seen.items():
        kinds.setdefault(path, Counter())[kind] += count
    for path, type_ in nodes(columns):
        if type_ == STRING and len(found := kinds.get(path, Counter())) > 1:
            yield path, found


def way_on(columns: Mapping[Path, Type]) -> str:
    """Say what can be set so that a table may go without these columns, by the object that most of them are in."""
    found: Counter[Path] = Counter(path[:-1] for path in columns)
    for path, struct in _structs(columns):
        found[path] = len(struct.fields)
    most: Path = max(found, key=lambda path: (found[path], path), default=())
    widest = ".".join(most)
    if not widest:
        return ". Most are fields of the records themselves: frazil.schema.path.<field>=ignore leaves one out"
    return (
        f". Most are in {widest}: frazil.schema.path.{widest}=map or json makes it one column, of a table that is made "
        "with it"
    )


def _changed(path: Path, type_: Type, is_map: Callable[[Path, Struct], bool]) -> Type:
    """Make maps of some of the objects in a type, the outer ones first."""
    match type_:
        case Struct(fields):
            if is_map(path, type_):
                return MAP
            return replace(
                type_, fields=tuple(replace(f, type=_changed((*path, f.name), f.type, is_map)) for f in fields)
            )
        case List(element):
            return replace(type_, element=_changed((*path, "element"), element, is_map))
        case _:
            return type_


def _structs(columns: Mapping[Path, Type]) -> Iterator[tuple[Path, Struct]]:
    """List the objects in columns, with their paths."""
    return ((path, type_) for path, type_ in nodes(columns) if isinstance(type_, Struct))


def _once(path: Path, struct: Struct, counts: Counter[Path]) -> int:
    """Count the members that stand in one record alone."""
    return sum(counts[(*path, field.name)] == 1 for field in struct.fields)


def _grow(path: Path, struct: Struct, counts: Counter[Path]) -> bool:
    """Whether most members of an object, which several records have, stand in one record alone."""
    return counts[path] > 1 and 2 * _once(path, struct, counts) >= len(struct.fields)


def _are_alike(struct: Struct) -> bool:
    """Whether all members are of one kind; objects, when they have half of all their members on average."""
    types = [field.type for field in struct.fields]
    kinds = {"number" if kind in NUMBERS else kind for kind in map(kind_of, types)}
    inside = [[field.name for field in type_.fields] for type_ in types if isinstance(type_, Struct)]
    names = {name for each in inside for name in each}
    return len(kinds) == 1 and 2 * sum(map(len, inside)) >= len(names) * len(inside)
