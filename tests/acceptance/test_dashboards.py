"""Dashboards on a worker under load: each panel has data."""

from __future__ import annotations

import threading
from itertools import count
from pathlib import Path

import pytest
from scripts.reference import ROOT

from tests.acceptance.objects import ObjectPipe
from tests.deploy.prometheus import OF_SOURCES, QUERIES, prometheus
from tests.harness import Pipe, Worker, event
from tests.waits import eventually

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def test_every_panel_has_data_of_a_worker_that_stores(worker: Worker, pipe: Pipe, tmp_path: Path) -> None:
    objects = ObjectPipe(worker.settings, "dashboards").create()
    tolerant = {"errors.tolerance": "all"}
    worker.client.put_config(pipe.connector, {**pipe.config(), **tolerant})
    worker.client.put_config(objects.connector, {**objects.config(), **tolerant})
    stop = threading.Event()

    def produce() -> None:
        for number in count():
            if stop.wait(0.1):
                return
            for one in (pipe, objects):
                one.send([*(event(10 * number + n) for n in range(10)), b"{"])
            pipe.send([None])

    load = threading.Thread(target=produce)
    load.start()
    try:
        target = f"127.0.0.1:{worker.settings.connect_port}"
        rules = ROOT / "deploy" / "prometheus" / "rules.yml"
        later = {place for place, (_, expression) in QUERIES.items() if "frazil_maintenance" in expression}
        with prometheus(tmp_path, target, "/metrics", rules) as scraped:
            # the first maintenance comes after ten minutes
            eventually(lambda: scraped.unanswered(QUERIES.keys() - OF_SOURCES - later) == set())
            for name in ("kafka_connect_sink_task_metrics_sink_record_read_total", "frazil_consumer_lag_seconds"):
                assert {one["metric"]["connector"] for one in scraped.ask(name)} >= {pipe.connector, objects.connector}
            (newest,) = scraped.ask(f'time() - frazil_newest_record_timestamp_seconds{{table="{pipe.table_name}"}}')
            assert float(newest["value"][1]) < 60
            processes = {one["metric"]["process"] for one in scraped.ask("frazil_process_resident_memory_bytes > 1e7")}
            assert processes == {"worker", "jvm", "python"}
    finally:
        stop.set()
        load.join()
        worker.client.delete(objects.connector)
