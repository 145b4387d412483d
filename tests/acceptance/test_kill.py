"""The worker is killed again and again while records flow: every record is stored exactly once."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

from frazil.stack.local import LocalStack
from tests.harness import Pipe, event, messages, own_worker, send
from tests.waits import PATIENCE_S, eventually

pytestmark = [pytest.mark.spark, pytest.mark.outage]


EVEN = {
    "connector.class": "SqlSink",
    "frazil.sql.schema": "id BIGINT NOT NULL, time TIMESTAMP, bucket STRING, count INT, labels MAP<STRING, STRING>, "
    "info STRUCT<size: BIGINT, note: STRING>",
    "frazil.sql": "SELECT * FROM {topic} WHERE id % 2 = 0 AND 1 / (id - 250) <= 1",
}
"""A statement that leaves out every second record, and fails on the record 250."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize("statement", [{}, pytest.param(EVEN, marks=pytest.mark.faults)], ids=["records", "statement"])
@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.faults)])
def test_kills_lose_and_double_nothing(
    stack: LocalStack, tmp_path: Path, kills: int, statement: dict[str, str]
) -> None:
    worker = own_worker(stack.settings, tmp_path)
    pipe = Pipe(worker.settings, f"killed_{kills}_{len(statement)}").create()
    rng = random.Random(11)
    stop = threading.Event()
    sent = itertools.count()
    total = 0

    def produce() -> None:
        nonlocal total
        while not stop.is_set():
            numbers = list(itertools.islice(sent, 2000))
            records = [event(n) if n % 500 else b"bad %d" % n for n in numbers]
            send(pipe.settings.bootstrap_servers, pipe.name, records)
            total = numbers[-1] + 1
            time.sleep(0.3 if total < 60_000 else 4)  # always some more, and never more than a slow machine can read

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        for kill in range(kills):
            worker.start()
            if kill == 0:
                worker.client.put_config(
                    pipe.connector,
                    pipe.config()
                    | {key: text.replace("{topic}", pipe.name) for key, text in statement.items()}
                    | {"errors.tolerance": "all", "errors.deadletterqueue.context.headers.enable": "true"}
                    | {"errors.deadletterqueue.topic.replication.factor": "1"},
                )
            before = pipe.snapshots()
            if kill % 3:
                eventually(lambda before=before: pipe.snapshots() > before)  # type: ignore[misc]
            time.sleep(rng.uniform(0, 2.5))
            worker.client.close()
            worker.kill()
    finally:
        stop.set()
        producer.join()

    with worker:
        eventually(lambda: pipe.lag() == 0)
        bad = {n: b"bad %d" % n for n in range(0, total, 500)}
        if statement:
            bad[250] = event(250)
        assert pipe.ids() == [n for n in range(total) if n not in bad and not (statement and n % 2)]
        letters = messages(pipe.settings.bootstrap_servers, f"{pipe.name}-dlq")
        assert sorted(m.value() for m in letters) == sorted(bad.values())


@pytest.mark.faults
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["kill", "Ctrl+C"])
def test_a_signal_for_the_whole_process_group_stops_in_order(
    stack: LocalStack, tmp_path: Path, number: signal.Signals
) -> None:
    """As of a shell's `kill %1`, or of a terminal: the JVM goes when the connectors have stopped."""
    with own_worker(stack.settings, tmp_path) as worker:
        pipe = Pipe(worker.settings, f"signalled_{number.name.lower()}").create()
        worker.client.put_config(pipe.connector, pipe.config())
        pipe.send([event(n) for n in range(100)])
        eventually(lambda: len(pipe.ids()) == 100)
        pipe.send([event(n) for n in range(100, 60_000)])
        process = psutil.Process(worker.pid)
        family = process.children(recursive=True)
        os.killpg(process.pid, number)
        psutil.wait_procs([process, *family], timeout=PATIENCE_S)
        log = worker.log()
        assert f"connector {pipe.connector} has stopped" in log
        assert not any(word in log for word in ("ERROR", "Traceback", "given up"))
