"""Files in a table's folder that no snapshot names: of writers that were killed, or of commits that failed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.iceberg.maintenance.stored_objects import Objects, StoredObject
from frazil.connectors.iceberg.spark.runtime import jvm


def old_files(table: Table, policy: Policy) -> tuple[int, list[StoredObject]]:
    """Count the files in the table's folder, and list those old enough to be looked at.

    Raises ServiceUnavailable or ConfigError when the object store does not tell.
    """
    oldest = int(time.time() * 1000) - policy.orphan_age_ms
    files = list(Objects(table).below(table.location()))
    return len(files), [file for file in files if file.changed_ms < oldest]


def remove_orphans(
    session: SparkSession, java_table: Any, count: int, files: Sequence[StoredObject], policy: Policy
) -> StepResult:
    """Remove those of `files` that nothing in the table's metadata names.

    `java_table` has to be read after the files were listed, else a commit in between would look like orphans. Raises
    what the JVM raises.
    """
    if not files:
        return StepResult(Step.ORPHANS, "files", count, count, 0)
    java: Any = jvm(session)
    action: Any = java.org.apache.iceberg.spark.actions.SparkActions
    action = action.get(session._jsparkSession).deleteOrphanFiles(java_table)  # noqa: SLF001
    frame = session.createDataFrame(
        pa.table(
            {
                "file_path": pa.array([file.location for file in files], pa.string()),
                "last_modified": pa.array([file.changed_ms for file in files], pa.timestamp("ms", "UTC")),
            }
        )
    )
    action = action.compareToFileList(frame._jdf).olderThan(max(file.changed_ms for file in files) + 1)  # noqa: SLF001
    if policy.dry_run:
        action = action.deleteWith(java.java.util.stream.Stream.builder())  # a consumer that deletes nothing
    locations, gone = action.execute().orphanFileLocations().iterator(), set()
    while locations.hasNext():
        gone.add(str(locations.next()))
    removed = sum(file.size for file in files if file.location in gone)
    return StepResult(Step.ORPHANS, "files", count, count - len(gone), removed)
