"""Rewriting of small position delete files as few, without positions in files that are gone."""

from __future__ import annotations

from typing import Any

from pyiceberg.table.refs import MAIN_BRANCH
from pyspark.sql import SparkSession

from frazil.connectors.iceberg.maintenance.policy import Policy
from frazil.connectors.iceberg.spark.runtime import jvm

FOLDING = {"delete-file-threshold": "5", "remove-dangling-deletes": "true"}
"""Options of compaction: a data file that so many delete files belong to is written again without its deleted rows."""


def merge_deletes(session: SparkSession, java_table: Any, cold: Any, policy: Policy) -> None:
    """Rewrite delete files of cold partitions, those of `main` alone: Iceberg does it for no other branch.

    Raises what the JVM raises.
    """
    java_table.refresh()
    head = java_table.currentSnapshot()
    if policy.branch != MAIN_BRANCH or head is None or head.summary().get("total-delete-files") in (None, "0"):
        return
    action: Any = jvm(session).org.apache.iceberg.spark.actions.SparkActions.get(session._jsparkSession)  # noqa: SLF001
    action.rewritePositionDeletes(java_table).filter(cold).execute()
