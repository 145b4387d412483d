"""Metadata files that the table has left behind: every commit writes one, and not every catalog removes them again."""

from __future__ import annotations

import time

from pyiceberg.table import Table

from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.iceberg.maintenance.stored_objects import Objects

_ENDINGS = (".metadata.json", ".metadata.json.gz", ".gz.metadata.json")


def remove_metadata(table: Table, policy: Policy) -> StepResult:
    """Remove metadata files that are neither the present one nor in the table's log of earlier ones.

    Raises ServiceUnavailable or ConfigError when the object store does not do it.
    """
    folder = table.metadata_location.rpartition("/")[0]
    if not folder.startswith(table.location().rstrip("/") + "/"):
        note = f"{folder} is not below the table's own folder; other tables may have files there"
        return StepResult(Step.METADATA, "metadata files", note=note)
    objects = Objects(table)
    files = [file for file in objects.below(folder) if file.location.endswith(_ENDINGS)]
    now = table.refresh()  # after the listing: what was made since is not in it
    named = {now.metadata_location, *(entry.metadata_file for entry in now.metadata.metadata_log)}
    oldest = int(time.time() * 1000) - policy.metadata_age_ms
    left = [file for file in files if file.location not in named and file.changed_ms < oldest]
    if not policy.dry_run:
        objects.remove(file.location for file in left)
    size = sum(file.size for file in left)
    return StepResult(Step.METADATA, "metadata files", len(files), len(files) - len(left), size)
