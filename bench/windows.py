"""Windows of a minute at a steady rate: how fresh their rows are when a reader sees them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from bench.drain import wait_until_running
from bench.environment import Show, running, with_home
from bench.latency import SETTLE_S, Watched, steady
from bench.load import Pace, create_topic
from bench.results import Latency
from bench.sampling import TreeSampler
from bench.sql import connector_config, orders_table
from bench.systems import FRAZIL, Connector
from bench.tables import WatchedTable
from frazil.clients.connect import ConnectClient
from frazil.environment.settings import Settings

PAGES = 100
_MINUTE_S, _WATERMARK_S, _BEHIND_S, _INTERVAL_S = 60, 1, 5, 2
_LEAST_MINUTES = 2


def windows(settings: Settings, rate: int, seconds: int, run: str, show: Show) -> Latency:
    """Count records of pages by the minute, with commits every two seconds; raises as `latency` does.

    The column `time` of a row is the end of its minute with the second of the watermark.
    """
    topic = f"bench-{run}"
    create_topic(settings, topic)
    minutes = max(seconds // _MINUTE_S, _LEAST_MINUTES)
    count = rate * (minutes * _MINUTE_S + _BEHIND_S)
    table = WatchedTable(orders_table(settings, run, "time TIMESTAMP, page BIGINT, n BIGINT"))
    config = {
        **connector_config(settings, table),
        "connector.class": "SqlSink",
        "topics": topic,
        "frazil.sql.schema": "page BIGINT, at TIMESTAMP",
        "frazil.sql": f"SELECT window.end + INTERVAL {_WATERMARK_S} SECOND AS time, page, count(*) AS n "
        f"FROM `{topic}` GROUP BY window(at, '1 minute'), page",
        "frazil.watermark": f"at {_WATERMARK_S} second",
        "iceberg.control.commit.interval-ms": str(_INTERVAL_S * 1000),
    }
    service = FRAZIL.worker(with_home(settings, settings.home / "workers" / run))
    with (
        running(service, show) as process,
        ConnectClient(settings.connect_url) as client,
        TreeSampler(process) as sampler,
    ):
        connector = Connector(client, settings, run)
        connector.deploy(config)
        wait_until_running(connector, show)
        pace = Pace(math.ceil((time.time() + SETTLE_S) / _MINUTE_S) * _MINUTE_S, rate)
        title = f"frazil, windows of a minute, a commit each {_INTERVAL_S} s"
        watched, counts = Watched(connector, table, sampler), (count, minutes * PAGES)
        return steady(settings, watched, topic, pace, clicks(pace.first, rate, count), counts, title, show)


def clicks(first: float, rate: int, count: int) -> Iterator[bytes]:
    """Make records of pages in turn, each with the moment at which it is due."""
    for number in range(count):
        at = datetime.fromtimestamp(first + number / rate, UTC).isoformat()
        yield json.dumps({"page": number % PAGES, "at": at}).encode()
