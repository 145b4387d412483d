"""Summary of a table at a glance, asked of Trino: the counterpart of `frazil.sql.summary`."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from frazil.sql.result import Result
from frazil.sql.summary import FIRST_COLUMNS, Snapshot, TableSummary
from frazil.sql.trino import TrinoEngine
from frazil.text.quoting import identifier

Shown = Callable[[Collection[str]], Mapping[str, str] | None]
"""Dotted paths of the columns that suit a table of which the names are known in lower case, with their labels."""


def known_tables(engine: TrinoEngine, namespace: str) -> list[str]:
    """Names of the tables of a namespace. Raises QueryError when there is no such catalog or namespace."""
    return sorted(str(name) for (name,) in _rows(engine, f"SHOW TABLES FROM {identifier(namespace)}"))


def summarise(
    engine: TrinoEngine, namespace: str, name: str, rows: int, shown: Shown, *, last: bool = False
) -> TableSummary:
    """Summary of one table with the columns of its `rows` newest rows that `shown` says.

    `last` asks for the newest with all its columns.

    Raises QueryError when there is no such table, ServiceUnavailable when Trino does not answer.
    """
    table = f"{identifier(namespace)}.{identifier(name)}"
    types = {str(row[0]): str(row[1]) for row in _rows(engine, f"DESCRIBE {table}")}
    shown_here = shown(types.keys()) or {column: column for column in list(types)[:FIRST_COLUMNS]}
    order = _order_column(types)
    newest_first = f" ORDER BY {identifier(order)} DESC" if order else ""
    columns = ", ".join(f"{_path(path)} AS {identifier(label)}" for path, label in shown_here.items())
    newest = _answer(engine, f"SELECT {columns} FROM {table}{newest_first} LIMIT {rows}")  # noqa: S608
    full = _answer(engine, f"SELECT * FROM {table}{newest_first} LIMIT 1") if last and newest.rows else None  # noqa: S608
    [(total,)] = _rows(engine, f"SELECT count(*) FROM {table}")  # noqa: S608
    return TableSummary(name, total, _snapshot(engine, namespace, name), newest, full)


def _snapshot(engine: TrinoEngine, namespace: str, name: str) -> Snapshot | None:
    snapshots, refs = (f"{identifier(namespace)}.{identifier(f'{name}${part}')}" for part in ("snapshots", "refs"))
    columns = "s.snapshot_id, s.committed_at, s.operation, element_at(s.summary, 'added-records')"
    joined = f"{snapshots} s JOIN {refs} r ON s.snapshot_id = r.snapshot_id"
    found = _rows(engine, f"SELECT {columns} FROM {joined} WHERE r.name = 'main'")  # noqa: S608
    if not found:
        return None
    [(snapshot_id, committed_at, operation, added)] = found
    return Snapshot(snapshot_id, committed_at, operation or "", None if added is None else int(added))


def _order_column(types: dict[str, str]) -> str | None:
    """`time`, else the first column that holds one."""
    ordered = [name for name, kind in types.items() if kind.startswith(("timestamp", "date"))]
    return "time" if "time" in ordered else next(iter(ordered), None)


def _rows(engine: TrinoEngine, sql: str) -> list[tuple[Any, ...]]:
    return list(_answer(engine, sql).rows)


def _answer(engine: TrinoEngine, sql: str) -> Result:
    [result] = engine.run(sql)
    return result


def _path(path: str) -> str:
    return ".".join(map(identifier, path.split(".")))
