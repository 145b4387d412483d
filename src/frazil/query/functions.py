"""Trino functions and literals whose counterpart depends on the type of their argument."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyiceberg.types import IcebergType, MapType, StructType
from sqlglot import exp

from frazil.query.names import Source


def adapt_functions(tree: exp.Expr, tables: Sequence[tuple[str, Source]]) -> None:
    """Rewrite, in place, what the embedded engine spells otherwise.

    These are `cardinality(map)`, `UNNEST(map) AS t (key, value)`, the space before the offset of a timestamp, and
    `date_diff`, which in Trino counts whole units that have passed.
    """
    for difference in list(tree.find_all(exp.DateDiff)):
        unit = exp.Literal.string(difference.text("unit").lower() or "day")
        ends = [difference.expression.copy(), difference.this.copy()]
        difference.replace(exp.Anonymous(this="DATE_SUB", expressions=[unit, *ends]))
    for cast in tree.find_all(exp.Cast):
        if cast.to.is_type(exp.DType.TIMESTAMPTZ) and isinstance(cast.this, exp.Literal):
            cast.this.set("this", re.sub(r" (?=[+-]\d\d:\d\d$)", "", cast.this.name))
    for size in list(tree.find_all(exp.ArraySize)):
        if isinstance(_type_of(size.this, tables), MapType):
            size.replace(exp.Anonymous(this="CARDINALITY", expressions=[size.this.copy()]))
    for unnest in list(tree.find_all(exp.Unnest)):
        arguments = unnest.expressions
        if len(arguments) == 1 and isinstance(_type_of(arguments[0], tables), MapType):
            unnest.replace(_entries(arguments[0], unnest))


def _entries(argument: exp.Expr, unnest: exp.Unnest) -> exp.Lateral:
    alias = unnest.args.get("alias")
    named = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    key, value = named if len(named) == 2 else ("key", "value")
    pairs = exp.Select(
        expressions=[
            exp.alias_(
                exp.Unnest(expressions=[exp.Anonymous(this=f"MAP_{what}", expressions=[argument.copy()])]),
                name,
                quoted=True,
            )
            for what, name in (("KEYS", key), ("VALUES", value))
        ]
    )
    name = alias.this.copy() if isinstance(alias, exp.TableAlias) and alias.this else exp.to_identifier("entries")
    return exp.Lateral(this=exp.Subquery(this=pairs), alias=exp.TableAlias(this=name))


def _type_of(node: exp.Expr, tables: Sequence[tuple[str, Source]]) -> IcebergType | None:
    """Iceberg type of a column or of a field inside one, when exactly one table has such a column."""
    if not isinstance(node, exp.Column | exp.Dot):
        return None
    path = [part.name.lower() for part in node.parts]
    found = [
        found_type
        for alias, source in tables
        if source.metadata is None
        for found_type in (
            _field_type(source, path),
            _field_type(source, path[1:]) if path[0] == alias.lower() else None,
        )
        if found_type is not None
    ]
    return found[0] if len(found) == 1 else None


def _field_type(source: Source, path: Sequence[str]) -> IcebergType | None:
    current: IcebergType | None = source.table.schema().as_struct()
    for name in path:
        fields = current.fields if isinstance(current, StructType) else ()
        current = next((field.field_type for field in fields if field.name.lower() == name), None)
    return current if path else None
