"""Bodies of the actuator about metrics: one of them as Spring Boot names and measures it, and the sums of all."""

import time
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from prometheus_client import Metric
from prometheus_client.samples import Sample

from frazil.errors import ConfigError, NotFound
from frazil.worker.watch.metrics import Metrics

_UNITS = ("seconds", "bytes")
_STATISTICS: Mapping[str, Mapping[str, str]] = {
    "counter": {"_total": "COUNT"},
    "histogram": {"_count": "COUNT", "_sum": "TOTAL"},
    "gauge": {"": "VALUE"},
}
"""Statistics of the samples of a metric, by what a sample's name has behind the metric's."""


def meter_name(metric: Metric) -> str:
    """The name with dots and without the unit: `kafka.connector.s3.write.duration`."""
    return metric.name.removesuffix(f"_{_unit(metric)}").replace("_", ".")


def meter(metrics: Iterable[Metric], name: str, tags: Collection[str]) -> dict[str, Any]:
    """The body of /actuator/metrics/NAME; the name is that of `meter_name`, or the one that Prometheus sees.

    `tags` are conditions such as `connector:orders`. Raises NotFound for a metric, or series of it, that there is not,
    ConfigError for a condition that is none.
    """
    wanted = dict(_condition(tag) for tag in tags)
    metric = next((one for one in metrics if name in (meter_name(one), one.name)), None)
    series = [] if metric is None else [one for one in metric.samples if wanted.items() <= one.labels.items()]
    if metric is None or (wanted and not series):
        raise NotFound(f"There is no metric {' with '.join([name, *tags])}.")
    unit = _unit(metric)
    time = "_TIME" if unit == "seconds" else ""
    return {
        "name": meter_name(metric),
        "description": metric.documentation,
        **({"baseUnit": unit} if unit else {}),
        "measurements": [
            {"statistic": statistic.replace("TOTAL", f"TOTAL{time}"), "value": value}
            for statistic, value in _measured(metric, series).items()
        ],
        "availableTags": [
            {"tag": tag, "values": sorted({one.labels[tag] for one in series if tag in one.labels})}
            for tag in sorted({tag for one in series for tag in one.labels} - wanted.keys() - {"le"})
        ],
    }


def _measured(metric: Metric, series: Iterable[Sample]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in series:
        statistic = _STATISTICS.get(metric.type, _STATISTICS["gauge"]).get(one.name.removeprefix(metric.name))
        if statistic is not None:
            found[statistic] = found.get(statistic, 0.0) + one.value
    return found


def _unit(metric: Metric) -> str:
    return next((unit for unit in _UNITS if metric.name.endswith(f"_{unit}")), "")


def _condition(tag: str) -> tuple[str, str]:
    name, colon, value = tag.partition(":")
    if not colon:
        raise ConfigError(f"The tag {tag!r} is no condition; write it as name:value.")
    return name, value


def connector_metrics(metrics: Metrics) -> dict[str, object]:
    """The body of /actuator/connector/metrics; groups and fields that a Spark worker has data for."""
    totals = metrics.totals()
    batches = max(totals.batches, 1)
    return {
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "uptime-seconds": round(time.time() - metrics.started_at),
        "processing": {
            "records-processed": totals.read,
            "records-failed": totals.dead_letters,
            "failure-rate": totals.failure_rate,
        },
        "storage": {"s3-writes": totals.files, "bytes-written": totals.bytes_written, "commits": totals.batches},
        "performance": {
            "avg-processing-time-ms": 1000 * totals.duration_s / max(totals.read, 1),
            "avg-s3-write-time-ms": 1000 * totals.write_s / batches,
        },
        "system": {"dlq-messages": totals.dead_letters},
    }
