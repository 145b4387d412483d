"""Files in a table's folder that nothing names: of writers that were killed, of commits that failed, old metadata."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.table import Table
from pyspark.sql import SparkSession

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


METADATA_ENDINGS = (".metadata.json", ".metadata.json.gz", ".gz.metadata.json")
"""Endings of the names of metadata files."""

_REMOVED, _KEPT = "write.metadata.delete-after-commit.enabled", "write.metadata.previous-versions-max"


def remove_metadata(table: Table, policy: Policy, now_ms: int) -> StepResult:
    """Remove metadata files that are neither the present one nor in the table's log of earlier ones.

    A table may say that they all stay, or how many of the newest. Raises ServiceUnavailable or ConfigError when the
    object store does not do it.
    """
    if table.properties.get(_REMOVED, "true").lower() == "false":
        return StepResult(Step.METADATA, "metadata files", note=f"the table has {_REMOVED}=false")
    folder = table.metadata_location.rpartition("/")[0]
    if not folder.startswith(table.location().rstrip("/") + "/"):
        note = f"{folder} is not below the table's own folder; other tables may have files there"
        return StepResult(Step.METADATA, "metadata files", note=note)
    objects = Objects(table)
    files = [file for file in objects.below(folder) if file.location.endswith(METADATA_ENDINGS)]
    now = table.refresh()  # after the listing: what was made since is not in it
    named = {now.metadata_location, *(entry.metadata_file for entry in now.metadata.metadata_log)}
    newest = sorted(files, key=lambda file: file.changed_ms, reverse=True)[: int(now.properties.get(_KEPT, 0)) + 1]
    named |= {file.location for file in newest}
    oldest = now_ms - policy.metadata_age_ms
    left = [file for file in files if file.location not in named and file.changed_ms < oldest]
    if not policy.dry_run:
        objects.remove(file.location for file in left)
    size = sum(file.size for file in left)
    return StepResult(Step.METADATA, "metadata files", len(files), len(files) - len(left), size)
