from __future__ import annotations

import os

from bench.machine import describe, java_version

from frazil.stack.java import find_java


def test_figures_name_the_machine_and_the_versions() -> None:
    machine = describe(os.environ)
    assert "cores usable" in machine["Processor"]
    assert "pyspark 4.1.1" in machine["Packages"]
    assert machine["Java"] == java_version(find_java(os.environ))
    assert "build" in machine["Java"]
