"""Metadata files that the table has left behind: every commit writes one, and not every catalog removes them again."""

from __future__ import annotations

from pyiceberg.table import Table

from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.iceberg.maintenance.stored_objects import Objects

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
