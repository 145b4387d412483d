"""Rewriting of small manifests as few, sorted by partition: a reader opens only those that it needs."""

from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyspark.sql import SparkSession

from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.iceberg.spark.runtime import jvm

_TARGET = "commit.manifest.target-size-bytes"
_TARGET_BYTES = 8 << 20
_FEW = 10
"""Superfluous manifests that stay: else each run would rewrite all for a handful of new ones."""


def rewrite_manifests(session: SparkSession, java_table: Any, table: Table, policy: Policy) -> StepResult:
    """Rewrite the manifests of the current spec when there are clearly more than needed. Raises what the JVM raises."""
    head = table.metadata.snapshot_by_name(MAIN_BRANCH)
    if policy.branch != MAIN_BRANCH:
        return StepResult(Step.MANIFESTS, "manifests", note=f"Iceberg rewrites those of branch {MAIN_BRANCH} only")
    if head is None:
        return StepResult(Step.MANIFESTS, "manifests", note="the table has no snapshot")
    manifests = head.manifests(table.io)
    matching = [m for m in manifests if m.partition_spec_id == table.metadata.default_spec_id]
    target = int(table.properties.get(_TARGET, _TARGET_BYTES))
    needed = -(-sum(m.manifest_length for m in matching) // target)
    if len(matching) < needed + _FEW:
        return StepResult(Step.MANIFESTS, "manifests", len(manifests), len(manifests), note="few enough")
    after = len(manifests) - len(matching) + needed
    if not policy.dry_run:
        actions: Any = jvm(session).org.apache.iceberg.spark.actions.SparkActions
        result = actions.get(session._jsparkSession).rewriteManifests(java_table).execute()  # noqa: SLF001
        after = len(manifests) - _count(result.rewrittenManifests()) + _count(result.addedManifests())
    return StepResult(Step.MANIFESTS, "manifests", len(manifests), after)


def _count(items: Any) -> int:
    iterator, number = items.iterator(), 0
    while iterator.hasNext():
        iterator.next()
        number += 1
    return number
