from __future__ import annotations

import subprocess
import sys

LIGHT = """
import sys
from frazil.query.startup import leave_out_pandas
{before}
leave_out_pandas()
import pyarrow.dataset as ds
import pyarrow as pa
table = pa.table({{"a": [1, None, 3]}})
assert ds.dataset(table).to_table(filter=ds.field("a") > 1).to_pylist() == [{{"a": 3}}]
print("pandas" in sys.modules)
"""


def run(before: str) -> str:
    code = LIGHT.format(before=before)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_pyarrow_works_without_pandas() -> None:
    assert run("") == "False"


def test_a_process_that_has_pandas_keeps_it() -> None:
    assert run("import pandas") == "True"


def test_the_package_imports_nothing_heavy_for_rendering() -> None:
    heavy = ("pyarrow", "duckdb", "sqlglot", "trino", "pyiceberg")
    code = f"import sys, frazil.cli.verbs.query; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
