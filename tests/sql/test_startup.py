from __future__ import annotations

import subprocess
import sys


def test_the_package_imports_nothing_heavy_for_rendering() -> None:
    heavy = ("pyarrow", "duckdb", "sqlglot", "trino", "pyiceberg")
    code = f"import sys, frazil.cli.verbs.query; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
