"""What names mean inside a query: relations, their columns, and the scopes around an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from frazil.errors import QueryError
from frazil.query.sql.types import Type
from frazil.query.sql.value import Reading, Value


@dataclass(frozen=True)
class Column:
    """A column of a relation.

    `qualifier` are the names that may stand before it, `reads` what has to be read when it is used, `origins` the
    columns of tables whose very value it has, so that a condition on it may be tested there already.
    """

    name: str
    type: Type
    sql: str
    qualifier: tuple[str, ...] = ()
    reads: frozenset[Reading] = frozenset()
    origins: frozenset[Reading] = frozenset()
    hidden: bool = False


@dataclass(frozen=True)
class Relation:
    """Something to select from: the text that stands in FROM, and its columns."""

    sql: str
    columns: tuple[Column, ...]

    def renamed(self, alias: str, names: Sequence[str]) -> Relation:
        """The relation under an alias; `names` replace those of its columns. Raises QueryError on a wrong number."""
        shown = [column for column in self.columns if not column.hidden]
        if names and len(names) != len(shown):
            raise QueryError(f"{alias} has {len(names)} column aliases for {len(shown)} columns")
        given = iter(names)
        kept = self.columns if not names else shown
        columns = (
            replace(column, qualifier=(alias.lower(),), name=next(given) if names else column.name) for column in kept
        )
        return Relation(self.sql, tuple(columns))

    def without_origins(self) -> Relation:
        """The relation where conditions must not be tested any deeper, as on the outer side of a join."""
        return Relation(self.sql, tuple(replace(column, origins=frozenset()) for column in self.columns))


@dataclass(frozen=True)
class Scope:
    """Names that an expression can use; `outer` are those of the query around it.

    `outputs` are the aliases that ORDER BY may use, `variables` the arguments of lambdas, `windows` the texts of the
    WINDOW clause.
    """

    columns: tuple[Column, ...] = ()
    outer: Scope | None = None
    outputs: dict[str, Value] = field(default_factory=dict)
    variables: dict[str, Value] = field(default_factory=dict)
    windows: dict[str, str] = field(default_factory=dict)

    def resolve(self, parts: Sequence[str]) -> tuple[Column, list[str]] | None:
        """The column of a dotted name, and the names of fields inside it that follow.

        The longest qualifier wins, then the innermost query. Raises QueryError for an ambiguous name.
        """
        names = [part.lower() for part in parts]
        for position in range(len(names) - 1, -1, -1):
            qualifier, name = tuple(names[:position]), names[position]
            found = [c for c in self.columns if c.name.lower() == name and _ends_with(c.qualifier, qualifier)]
            if len(found) > 1:
                raise QueryError(f"column {'.'.join(parts[: position + 1])} is ambiguous; write its table before it")
            if found:
                return found[0], list(parts[position + 1 :])
        return self.outer.resolve(parts) if self.outer else None

    def names(self) -> list[str]:
        """Names of all columns that can be used, those of the queries around last."""
        own = [column.name for column in self.columns if not column.hidden]
        return own + (self.outer.names() if self.outer else [])

    def is_relation(self, name: str) -> bool:
        """Whether a name stands for a whole table of the query."""
        inside = any(column.qualifier[-1:] == (name.lower(),) for column in self.columns)
        return inside or (self.outer is not None and self.outer.is_relation(name))


def _ends_with(qualifier: tuple[str, ...], written: tuple[str, ...]) -> bool:
    return not written or qualifier[-len(written) :] == written


def origins(columns: Sequence[Column]) -> frozenset[Reading]:
    """The columns of tables that some of these columns are."""
    return frozenset(origin for column in columns for origin in column.origins)
