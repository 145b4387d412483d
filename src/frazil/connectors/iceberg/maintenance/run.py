"""Maintenance of one table: the wanted steps in their order, each told apart when it fails."""

import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError
from pyiceberg.table.refs import MAIN_BRANCH
from pyspark.sql import SparkSession
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.maintenance import store_clock
from frazil.connectors.iceberg.maintenance.compact import compact
from frazil.connectors.iceberg.maintenance.expire import expire
from frazil.connectors.iceberg.maintenance.manifests import rewrite_manifests
from frazil.connectors.iceberg.maintenance.orphans import old_files, remove_metadata, remove_orphans
from frazil.connectors.iceberg.maintenance.policy import Policy, Step, StepResult
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime
from frazil.connectors.iceberg.table.commit import TableBranch
from frazil.errors import ConfigError, FrazilError, NotFound, TransientError
from frazil.stack.transfer import repeating

_INTERVAL_S = 1.0
_GROUP = re.compile(r"file group (\d+)/(\d+)")


def watching(session: SparkSession, what: str, say: Callable[[str], None]) -> AbstractContextManager[None]:
    """Tell with `say`, each second, which group of files of the running rewrite Spark is at."""

    def look() -> None:
        group = _group(session)
        if group is not None:
            say(f"{what}: group {group[0]} of {group[1]}")

    return repeating(look, _INTERVAL_S)


def _group(session: SparkSession) -> tuple[int, int] | None:
    """The furthest group among the running stages; None when no stage is of a rewrite, or the JVM has gone."""
    context: Any = session.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark has no stages' descriptions
    found = []
    try:
        stages = context.statusStore().activeStages().iterator()
        while stages.hasNext():
            description = stages.next().description()
            match = _GROUP.search(str(description.get())) if description.isDefined() else None
            if match:
                found.append((int(match[1]), int(match[2])))
    except Py4JError:
        return None
    return max(found, default=None)


logger = logging.getLogger(__name__)

_ATTEMPTS = 4
_SAYS = {
    Step.COMPACT: "compacting data files",
    Step.MANIFESTS: "rewriting manifests",
    Step.EXPIRE: "expiring snapshots",
    Step.METADATA: "removing old metadata files",
    Step.ORPHANS: "looking for orphan files",
}


class Maintenance:
    """Looks after the tables of one catalog, given by its properties in the sink's spelling."""

    def __init__(
        self, runtime: IcebergRuntime, properties: Mapping[str, str], say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._runtime = runtime
        self._properties = properties
        self._say = say

    def run(self, name: str, policy: Policy) -> list[StepResult]:
        """Do what is wanted to a table; a step that fails is in the result, and the next ones run all the same.

        Raises NotFound when the table is gone, ConfigError when access is refused, ServiceUnavailable when the catalog
        or the store does not answer at the begin, TerminalError when this machine's clock is not the store's, and
        StackError when Iceberg's jars cannot be had. Writers may go on meanwhile: a step that loses against them is
        tried again, four times in all.
        """
        self._say(f"{name}: opening the table")
        target = TableBranch(catalogs.connect(self._properties), name, MAIN_BRANCH)
        table = target.load()
        if table.properties.get("gc.enabled", "true").lower() == "false":
            raise ConfigError(
                f"table {name} has gc.enabled=false: its files may belong to other tables too. Nothing was done; "
                "remove that property if no other table uses them."
            )
        store_clock.now_ms(table)  # nothing is begun by a clock that is wrong
        session = self._runtime.session.newSession()
        results = []
        for step in Step:
            if step in policy.steps:
                started = time.monotonic()
                result = self._attempts(target, session, step, policy)
                results.append(replace(result, seconds=time.monotonic() - started))
        return results

    def _attempts(self, target: TableBranch, session: SparkSession, step: Step, policy: Policy) -> StepResult:
        retrying = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_exponential(0.5, max=5),
            retry=retry_if_exception_type(TransientError),
            reraise=True,
        )
        try:
            return retrying(self._step, target, session, step, policy)
        except (NotFound, ConfigError):
            raise
        except FrazilError as error:
            logger.warning("maintenance of %s, step %s: %s", target.name, step, error)
            return StepResult(step, "", failed=True, note=str(error))

    def _step(self, target: TableBranch, session: SparkSession, step: Step, policy: Policy) -> StepResult:
        what = f"{target.name}: {_SAYS[step]}"
        self._say(what)
        table = target.load()
        now_ms = store_clock.now_ms(table)
        if step is Step.METADATA:
            return remove_metadata(table, policy, now_ms)
        count, files = old_files(table, policy, now_ms) if step is Step.ORPHANS else (0, [])
        java_table = self._runtime.table(self._properties, target.name)
        with self._runtime.calling(what, session), watching(session, what, self._say):
            match step:
                case Step.COMPACT:
                    return compact(session, java_table, table, policy, now_ms)
                case Step.MANIFESTS:
                    return rewrite_manifests(session, java_table, table, policy)
                case Step.EXPIRE:
                    return expire(session, java_table, table, policy, now_ms)
                case Step.ORPHANS:
                    return remove_orphans(session, java_table, count, files, policy)
