"""What a table holds at a glance, asked of Trino: the counterpart of `frazil.query.summary`."""

from __future__ import annotations

from typing import Any

from frazil.minio.records.tables import API_SCHEMA, ERROR_SCHEMA, SEED_AUDIT_SCHEMA
from frazil.query.result import Result
from frazil.query.summary import FIRST_COLUMNS, LABELS, SHOWN_COLUMNS, Snapshot, TableSummary
from frazil.query.trino import TrinoEngine

_KINDS = (("api", API_SCHEMA), ("audit", SEED_AUDIT_SCHEMA), ("error", ERROR_SCHEMA))


def known_tables(engine: TrinoEngine, namespace: str) -> list[str]:
    """Names of the tables of a namespace. Raises QueryError when there is no such catalog or namespace."""
    return sorted(str(name) for (name,) in _rows(engine, f"SHOW TABLES FROM {_quoted(namespace)}"))


def summarise(engine: TrinoEngine, namespace: str, name: str, rows: int, *, last: bool = False) -> TableSummary:
    """Summary of one table with its `rows` newest rows; `last` asks for the newest with all its columns.

    Raises QueryError when there is no such table, ServiceUnavailable when Trino does not answer.
    """
    table = f"{_quoted(namespace)}.{_quoted(name)}"
    types = {str(row[0]): str(row[1]) for row in _rows(engine, f"DESCRIBE {table}")}
    paths = _paths(list(types))
    order = _order_column(types)
    newest_first = f" ORDER BY {_quoted(order)} DESC" if order else ""
    columns = ", ".join(f"{_path(path)} AS {_quoted(LABELS.get(path, path))}" for path in paths)
    newest = _answer(engine, f"SELECT {columns} FROM {table}{newest_first} LIMIT {rows}")  # noqa: S608
    full = _answer(engine, f"SELECT * FROM {table}{newest_first} LIMIT 1") if last and newest.rows else None  # noqa: S608
    [(total,)] = _rows(engine, f"SELECT count(*) FROM {table}")  # noqa: S608
    return TableSummary(name, total, _snapshot(engine, namespace, name), order, newest, full)


def _snapshot(engine: TrinoEngine, namespace: str, name: str) -> Snapshot | None:
    snapshots, refs = (f"{_quoted(namespace)}.{_quoted(f'{name}${part}')}" for part in ("snapshots", "refs"))
    columns = "s.snapshot_id, s.committed_at, s.operation, element_at(s.summary, 'added-records')"
    joined = f"{snapshots} s JOIN {refs} r ON s.snapshot_id = r.snapshot_id"
    found = _rows(engine, f"SELECT {columns} FROM {joined} WHERE r.name = 'main'")  # noqa: S608
    if not found:
        return None
    [(snapshot_id, committed_at, operation, added)] = found
    return Snapshot(snapshot_id, committed_at, operation or "", None if added is None else int(added))


def _paths(names: list[str]) -> list[str]:
    """Columns that suit the kind of log; Trino gives the names in lower case."""
    known = {name.lower() for name in names}
    for kind, schema in _KINDS:
        if {field.name.lower() for field in schema.fields} <= known:
            return [path for path in SHOWN_COLUMNS[kind] if path.partition(".")[0].lower() in known]
    return names[:FIRST_COLUMNS]


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
    return ".".join(map(_quoted, path.split(".")))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
