"""Types that a connector gives new columns, in place of those that their values show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from frazil.pipeline.convert import infer
from frazil.pipeline.convert.column_types import ColumnType
from frazil.pipeline.convert.infer import Empties, Path
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, ScalarKind, Struct, Type, changed


@dataclass(frozen=True)
class Overrides:
    """Types by path; None for members that never become columns.

    Lists have their elements under `element`, maps their values under `value`.
    """

    types: tuple[tuple[Path, Type | None], ...] = ()

    @cached_property
    def _by_path(self) -> Mapping[Path, Type | None]:
        return dict(self.types)

    @cached_property
    def _parents(self) -> frozenset[Path]:
        return frozenset(path[:depth] for path in self._by_path for depth in range(len(path)))

    def infer(self, path: Path, raw: bytes, empties: Empties = "untold") -> Type | None:
        """Find the type of a new column for a JSON value; None where it shows no type, or never becomes a column."""
        if not self.types:
            return infer.infer(raw, empties=empties)
        if path in self._by_path:
            return None if raw == b"null" else self._by_path[path]
        inferred = infer.infer(raw, empties=empties)
        return inferred if inferred is None or path not in self._parents else self.apply(path, inferred)

    def apply(self, path: Path, type_: Type) -> Type | None:
        """Put the overrides into a type; None when nothing is left."""
        if path in self._by_path:
            return self._by_path[path]
        if path not in self._parents:
            return type_
        return changed(type_, lambda name, inner: self.apply((*path, name), inner))

    def mark(self, struct: Struct, path: Path = ()) -> Struct:
        """Note in the columns of a table which members never become columns."""
        marked: Type = self._mark(struct, path) if self.types else struct
        assert isinstance(marked, Struct)  # noqa: S101 - kinds stay as they are
        return marked

    def _mark(self, type_: Type, path: Path) -> Type:
        if path not in self._parents:
            return type_
        match type_:
            case Struct(fields):
                names = {f.name for f in fields}
                ignored = tuple(
                    p[-1] for p, found in self.types if found is None and p[:-1] == path and p[-1] not in names
                )
                marked = tuple(replace(f, type=self._mark(f.type, (*path, f.name))) for f in fields)
                return Struct(marked, ignored)
            case List(element):
                return replace(type_, element=self._mark(element, (*path, "element")))
            case Map(_, value):
                return replace(type_, value=self._mark(value, (*path, "value")))
            case _:
                return type_


NO_OVERRIDES = Overrides()


def overrides_of(types: Mapping[Path, ColumnType | None]) -> Overrides:
    """Make the overrides from the types of a connector's configuration."""
    return Overrides(tuple((path, None if found is None else type_of(found)) for path, found in types.items()))


def type_of(found: ColumnType) -> Type:
    """Give the type that a configuration has written."""
    match found.kind:
        case "list":
            return List(type_of(found.members[0][1]))
        case "map":
            return Map(type_of(found.members[0][1]), type_of(found.members[1][1]))
        case "struct":
            return Struct(tuple(Field(name, type_of(member)) for name, member in found.members))
        case "decimal":
            return Scalar("decimal", precision=found.numbers[0], scale=found.numbers[1])
        case "fixed":
            return Scalar("fixed", length=found.numbers[0])
        case "string":
            return STRING
        case _:
            kind: ScalarKind = found.kind
            return Scalar(kind)
