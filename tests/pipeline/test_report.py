from __future__ import annotations

import pytest

from frazil.pipeline.report import BatchReport


@pytest.mark.parametrize(
    ("stored", "dead", "skipped", "files", "tables", "line"),
    [
        (1, 0, 0, 1, ["a.b"], "connector c: 1 row into a.b, 1 file in 0.26 s"),
        (1200, 1, 3, 2, ["a.b", "a.c"], "connector c: 1,200 rows, 1 dead letter (`deadletters list`), 3 skipped into "
         "a.b, a.c, 2 files in 0.26 s"),
        (2, 5, 0, 4, ["a", "b", "c", "d"], "connector c: 2 rows, 5 dead letters (`deadletters list`) into 4 tables, "
         "4 files in 0.26 s"),
    ],
)  # fmt: skip
def test_a_batch_in_one_line(stored: int, dead: int, skipped: int, files: int, tables: list[str], line: str) -> None:
    report = BatchReport("c", stored + dead + skipped, stored, dead, skipped, files, 10, 0.256, 0.1, 0.1, places=tables)
    assert report.line() == line
