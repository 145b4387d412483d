"""Metrics sent by OTLP, with the names and labels that a scrape has."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client import Metric
from prometheus_client.samples import Sample

from frazil.environment.extras import extra
from frazil.environment.otlp import is_wanted, resource_of
from frazil.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import export

logger = logging.getLogger(__name__)

_INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
_INTERVAL_MS = 60_000
_END_S = 10.0
_LEAST, _MOST = math.inf, -math.inf
"""The extremes of a histogram that does not know them."""


def metrics_export(
    env: Mapping[str, str], worker_id: str, collect: Callable[[], Iterable[Metric]]
) -> MetricsExport | None:
    """The export that OpenTelemetry's variables ask for; None when they do not.

    Raises ConfigError for an exporter, a protocol or an interval that there is not, and without the extra `otel`.
    """
    if not is_wanted(env, "metrics"):
        return None
    given = env.get(_INTERVAL, "").strip() or str(_INTERVAL_MS)
    if not given.isdecimal() or not int(given):
        raise ConfigError(f"{_INTERVAL} is {given}; it takes milliseconds. The worker was not started.")
    return MetricsExport(env, worker_id, collect, int(given) / 1000)


class MetricsExport:
    """Sends all metrics every `interval_s` seconds, and once more at the end. Nothing waits for a receiver."""

    def __init__(
        self, env: Mapping[str, str], worker_id: str, collect: Callable[[], Iterable[Metric]], interval_s: float
    ) -> None:
        self._resource = resource_of(env, worker_id)
        with extra("otel"):
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        self._collect = collect
        self._interval_s = interval_s
        self._started_ns = time.time_ns()
        self._exporter = OTLPMetricExporter()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics export", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def close(self) -> None:
        """Send what there is, and end, in 10 s at most; idempotent."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_END_S)
        self._exporter.shutdown()

    def _run(self) -> None:
        while True:
            ends = self._closing.wait(self._interval_s)
            try:
                self._exporter.export(self._data(), timeout_millis=_END_S * 1000)
            except Exception:
                logger.warning("metrics were not sent by OTLP; they are sent again with the next ones", exc_info=True)
            if ends:
                return

    def _data(self) -> export.MetricsData:
        from opentelemetry.sdk.metrics import export
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        now = time.time_ns()
        metrics = [made for family in self._collect() if (made := _metric(family, self._started_ns, now)) is not None]
        scope = export.ScopeMetrics(InstrumentationScope("frazil"), metrics, "")
        return export.MetricsData([export.ResourceMetrics(self._resource, [scope], "")])


def _metric(family: Metric, start_ns: int, now_ns: int) -> export.Metric | None:
    """A family of Prometheus as OpenTelemetry's; None when it has no values. A summary's quantiles are gauges."""
    from opentelemetry.sdk.metrics import export

    cumulative = export.AggregationTemporality.CUMULATIVE
    data: export.DataT
    if not family.samples:
        return None
    if family.type == "histogram":
        data = export.Histogram(list(_histograms(family.samples, start_ns, now_ns)), cumulative)
    else:
        points = [
            export.NumberDataPoint(dict(sample.labels), start_ns, now_ns, sample.value) for sample in family.samples
        ]
        data = export.Sum(points, cumulative, True) if family.type == "counter" else export.Gauge(points)
    return export.Metric(family.name, family.documentation, "", data)


def _histograms(samples: Iterable[Sample], start_ns: int, now_ns: int) -> Iterator[export.HistogramDataPoint]:
    from opentelemetry.sdk.metrics import export

    buckets: dict[tuple[tuple[str, str], ...], dict[float, float]] = {}
    sums: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
        if sample.name.endswith("_bucket"):
            buckets.setdefault(labels, {})[float(sample.labels["le"])] = sample.value
        elif sample.name.endswith("_sum"):
            sums[labels] = sample.value
    for labels, up_to in buckets.items():
        bounds = sorted(up_to)
        counts = [int(up_to[bound]) for bound in bounds]
        each = [count - before for count, before in zip(counts, [0, *counts], strict=False)]
        finite = [bound for bound in bounds if bound != math.inf]
        yield export.HistogramDataPoint(
            dict(labels), start_ns, now_ns, counts[-1], sums.get(labels, 0.0), each, finite, _LEAST, _MOST
        )
