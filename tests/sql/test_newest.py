from __future__ import annotations

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.expressions import AlwaysTrue, IsNull, Reference
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField

from frazil.sql.newest import Newest, lower_bound, newest_files, upper_bound
from tests.sql.conftest import LogTables

SCHEMA = Schema(NestedField(1, "time", LongType(), required=False))
FIELD = SCHEMA.find_field("time")


def task(values: list[int | None], *, filtered: bool = False, bounds: bool = True) -> FileScanTask:
    """A file with these values; `filtered` when a condition has to be applied to its rows."""
    known = [value for value in values if value is not None]
    bounded = bounds and known
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{values}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(values),
        file_size_in_bytes=1,
        null_value_counts={1: len(values) - len(known)},
        lower_bounds={1: to_bytes(LongType(), min(known))} if bounded else None,
        upper_bounds={1: to_bytes(LongType(), max(known))} if bounded else None,
    )
    return FileScanTask(file, residual=IsNull(term=Reference("time")) if filtered else AlwaysTrue())


def values_of(tasks: list[FileScanTask]) -> list[str]:
    return [found.file.file_path for found in tasks]


def test_old_files_are_left_out() -> None:
    tasks = [task([1, 3]), task([10, 20]), task([19, 30]), task([4, 9])]
    assert values_of(newest_files(tasks, SCHEMA, Newest("time", 2))) == ["[10, 20]", "[19, 30]"]
    assert values_of(newest_files(tasks, SCHEMA, Newest("time", 4))) == ["[10, 20]", "[19, 30]"]
    assert len(newest_files(tasks, SCHEMA, Newest("time", 5))) == 3
    assert len(newest_files(tasks, SCHEMA, Newest("time", 100))) == 4


def test_rows_that_a_filter_may_drop_do_not_count() -> None:
    tasks = [task([1, 2]), task([5, 6]), task([9, 9], filtered=True)]
    assert values_of(newest_files(tasks, SCHEMA, Newest("time", 2))) == ["[5, 6]", "[9, 9]"]


def test_a_file_without_bounds_is_read() -> None:
    tasks = [task([1, 2]), task([7, 8]), task([3], bounds=False), task([None])]
    assert values_of(newest_files(tasks, SCHEMA, Newest("time", 1))) == ["[7, 8]", "[3]", "[None]"]


def test_bounds() -> None:
    assert (lower_bound(task([3, None, 8]), FIELD), upper_bound(task([3, None, 8]), FIELD)) == (3, 8)
    assert (lower_bound(task([None]), FIELD), upper_bound(task([None]), FIELD)) == (None, None)


FILES = st.lists(
    st.tuples(st.lists(st.none() | st.integers(0, 40), min_size=1, max_size=5), st.booleans(), st.booleans()),
    max_size=8,
)


@given(FILES, st.integers(0, 12))
def test_the_newest_rows_are_among_those_that_are_read(
    files: list[tuple[list[int | None], bool, bool]], rows: int
) -> None:
    tasks = [task(values, filtered=filtered, bounds=bounds) for values, filtered, bounds in files]
    kept = {id(found) for found in newest_files(tasks, SCHEMA, Newest("time", rows))}
    # The worst a filter can do is to drop every row of the files that it has to be applied to; the best, none.
    for dropped in (True, False):
        passing = [
            (values, one) for one, (values, filtered, _) in zip(tasks, files, strict=True) if not (filtered and dropped)
        ]
        every = [value for values, _ in passing for value in values if value is not None]
        read = [value for values, one in passing if id(one) in kept for value in values if value is not None]
        assert heapq.nlargest(rows, read) == heapq.nlargest(rows, every)


@pytest.mark.stack
@pytest.mark.parametrize("count", [1, 20, 150, 1000])
@pytest.mark.parametrize("where", ["", "WHERE bucket IS NOT NULL", "WHERE node = 'node-1'"])
def test_answers_are_those_of_the_whole_table(log_tables: LogTables, count: int, where: str) -> None:
    rows = log_tables.rows["apilogs"]
    if where:
        rows = [row for row in rows if (row["bucket"] is not None if "bucket" in where else row["node"] == "node-1")]
    answered = log_tables.answer(f"SELECT time FROM apilogs {where} ORDER BY time DESC LIMIT {count}")  # noqa: S608
    assert [time for (time,) in answered] == sorted((row["time"] for row in rows), reverse=True)[:count]
