"""Files in a table's folder that no snapshot names: of writers that were killed, or of commits that failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from frazil.connectors.iceberg.maintenance.metadata_files import METADATA_ENDINGS
from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.iceberg.maintenance.stored_objects import Objects, StoredObject
from frazil.connectors.iceberg.spark.runtime import jvm
from frazil.errors import TerminalError

_FOLDERS = ("data", "metadata")
"""Folders that writers of Iceberg put files into, below the location of a table."""


def old_files(table: Table, policy: Policy, now_ms: int) -> tuple[int, list[StoredObject]]:
    """Count the files in the table's own folders, and list those old enough to be looked at.

    What lies beside these folders, others have put there. Raises TerminalError where another table lies inside of them,
    ServiceUnavailable or ConfigError when the object store does not tell.
    """
    oldest = now_ms - policy.orphan_age_ms
    objects, location = Objects(table), table.location().rstrip("/")
    files = [file for folder in _FOLDERS for file in objects.below(f"{location}/{folder}")]
    own = {at.rpartition("/")[0] for at in (table.metadata_location, *_earlier(table))}
    for file in files:
        folder = file.location.rpartition("/")[0]
        if file.location.endswith(METADATA_ENDINGS) and folder not in own:
            raise TerminalError(
                f"another table has its metadata in {folder}, inside of the folder of {'.'.join(table.name())}: its "
                "files would be taken for orphans. Nothing was removed; move one of the tables."
            )
    return len(files), [file for file in files if file.changed_ms < oldest]


def _earlier(table: Table) -> list[str]:
    return [entry.metadata_file for entry in table.metadata.metadata_log]


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
