"""Maintenance beside a running connector, as a user does it."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

import httpx
import pytest
from pyiceberg.table import Table

from tests.harness import Pipe, Worker, event
from tests.waits import eventually

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.timeout(900)]


def maintain(worker: Worker, table: str, *options: str) -> dict[str, dict[str, Any]]:
    """Steps by name. Each call starts a JVM of its own, beside a worker that has the machine busy."""
    run = subprocess.run(
        [sys.executable, "-m", "frazil.cli.main", "maintain", table, *options, "-o", "json"],
        env={**worker.settings.env, "FRAZIL_ENV_FILE": os.devnull},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return {step["step"]: step for step in json.loads(run.stdout)["steps"]}


def files(table: Table) -> int:
    return len(list(table.scan().plan_files()))


def test_a_connector_and_maintenance_side_by_side(worker: Worker, pipe: Pipe) -> None:
    numbers = itertools.count()
    stop = threading.Event()
    sent = 0

    def produce() -> None:
        nonlocal sent
        while not stop.is_set():
            batch = list(itertools.islice(numbers, 40))
            pipe.send(event(n) for n in batch)
            sent = batch[-1] + 1
            time.sleep(0.5)

    worker.client.put_config(pipe.connector, pipe.config())
    producer = threading.Thread(target=produce)
    producer.start()
    try:
        eventually(lambda: pipe.snapshots() >= 8)
        steps = maintain(worker, pipe.table_name, "--hot-minutes", "0", "--keep-days", "0", "--keep-snapshots", "1")
        after = pipe.snapshots()
        eventually(lambda: pipe.snapshots() > after + 2)
    finally:
        stop.set()
        producer.join()
    assert steps["compact"]["after"] < steps["compact"]["before"]
    assert steps["expire"]["after"] < steps["expire"]["before"]
    assert worker.state(pipe.connector) == "RUNNING"
    eventually(lambda: pipe.lag() == 0)
    assert pipe.ids() == list(range(sent))

    httpx.put(f"{worker.settings.connect_url}/connectors/{pipe.connector}/stop").raise_for_status()
    eventually(lambda: worker.state(pipe.connector) == "STOPPED")
    before = files(pipe.table())
    steps = maintain(worker, pipe.table_name, "--compact", "--expire", "--hot-minutes", "0", "--keep-days", "0")
    assert files(pipe.table()) < before
    steps = maintain(worker, pipe.table_name, "--expire", "--keep-days", "0", "--keep-snapshots", "1")
    assert steps["expire"]["after"] == pipe.snapshots() == 1
    pipe.send(event(n) for n in range(sent, sent + 10))
    httpx.put(f"{worker.settings.connect_url}/connectors/{pipe.connector}/resume").raise_for_status()
    eventually(lambda: pipe.lag() == 0)
    assert pipe.ids() == list(range(sent + 10))
    assert f"connector {pipe.connector} failed" not in worker.log()
