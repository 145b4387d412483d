"""Metrics of source connectors: an agent in the JVM of their runtime tells them on loopback, under the names that
Debezium's dashboards ask for."""

import logging
from collections.abc import Sequence
from pathlib import Path

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import ServiceUnavailable, StackError
from frazil.stack.answer import answer
from frazil.stack.ivy import Progress
from frazil.stack.jars import JMX_EXPORTER, resolve
from frazil.stack.ports import unused

logger = logging.getLogger(__name__)

_TIMEOUT_S = 3.0
_DEBEZIUM = "debezium.([^:]+)<type=connector-metrics, "
_TASK = r"kafka.connect<type=source-task-metrics, connector=([^,>]+), task=(\d+)><>"
_RULES = rf"""
includeObjectNames: ["debezium.*:type=connector-metrics,*", "kafka.connect:type=source-task-metrics,*"]
rules:
- pattern: '{_DEBEZIUM}context=([^,>]+), server=([^,>]+), key=([^>]+)><>RowsScanned'
  name: debezium_metrics_RowsScanned
  labels: {{plugin: $1, name: $3, context: $2, table: $4}}
- pattern: '{_DEBEZIUM}context=([^,>]+), server=([^,>]+)><>(\w+)'
  name: debezium_metrics_$4
  labels: {{plugin: $1, name: $3, context: $2}}
- pattern: '{_DEBEZIUM}context=([^,>]+), server=([^,>]+), task=(\d+)><>(\w+)'
  name: debezium_metrics_$5
  labels: {{plugin: $1, name: $3, context: $2, task: $4}}
- pattern: '{_DEBEZIUM}server=([^,>]+), task=(\d+), context=([^,>]+)><>(\w+)'
  name: debezium_metrics_$5
  labels: {{plugin: $1, name: $2, context: $4, task: $3}}
- pattern: '{_TASK}([\w-]+)-total'
  name: kafka_connect_source_task_metrics_$3_total
  labels: {{connector: $1, task: $2}}
  type: COUNTER
- pattern: '{_TASK}([\w-]+)'
  name: kafka_connect_source_task_metrics_$3
  labels: {{connector: $1, task: $2}}
"""
"""Rules of the agent: what it tells, and under which names. Debezium's connectors name their beans in three ways."""


class SourceMetrics:
    """Metrics of one runtime. Where the agent's jar cannot be had, it runs without them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._url = ""

    def options(self, java: Path, conf: Path, progress: Progress) -> Sequence[str]:
        """Options of the JVM that is about to start."""
        self._url = ""
        try:
            (jar,) = resolve(JMX_EXPORTER, java, self._settings.cache, progress, self._settings.env)
        except StackError as error:
            logger.warning("source connectors run without metrics: %s", error)
            return ()
        rules = conf / "metrics.yml"
        rules.write_text(_RULES)
        (port,) = unused(1)
        self._url = f"http://{LOOPBACK}:{port}/metrics"
        return (f"-javaagent:{jar}={LOOPBACK}:{port}:{rules}",)

    def read(self) -> Sequence[Metric]:
        """Ask the agent. Raises ServiceUnavailable."""
        if not self._url:
            return ()
        try:
            told = answer(self._url, timeout_s=_TIMEOUT_S).raise_for_status()
        except httpx.HTTPError as error:
            raise ServiceUnavailable(
                f"the runtime of source connectors does not tell its metrics ({type(error).__name__})"
            ) from None
        found = text_string_to_metric_families(told.text)
        return [one for one in found if one.name.startswith(("debezium_", "kafka_connect_source_"))]
