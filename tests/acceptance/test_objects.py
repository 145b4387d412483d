"""Object sinks in a worker: what is stored, what is read again, kills at any moment."""

from __future__ import annotations

import io
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pyarrow.parquet as pq
import pytest
from prometheus_client.parser import text_string_to_metric_families

from frazil.clients.kafka import groups as kafka_groups
from frazil.stack.local import LocalStack
from tests.acceptance.objects import ObjectPipe
from tests.gate import Gate
from tests.harness import Transactions, Worker, messages, own_worker
from tests.waits import eventually

pytestmark = pytest.mark.spark

FORMAT = "io.confluent.connect.s3.format."


@pytest.fixture
def objects(worker: Worker, request: pytest.FixtureRequest) -> Iterator[ObjectPipe]:
    made = ObjectPipe(worker.settings, request.node.name.replace("_", "-")).create()
    yield made
    worker.client.delete(made.connector)


def position(pipe: ObjectPipe) -> dict[tuple[str, int], int]:
    return kafka_groups.group_offsets(
        pipe.settings.bootstrap_servers, f"connect-{pipe.connector}", [(pipe.name, 0), (pipe.name, 1)]
    )


def test_complete_objects_are_stored_and_the_rest_waits(worker: Worker, objects: ObjectPipe) -> None:
    worker.client.put_config(objects.connector, objects.config())
    objects.send([b'{"n": %d}' % n for n in range(25)], partition=0)
    eventually(lambda: len(objects.objects()) == 2)
    assert objects.objects() == {
        f"partition=0/{objects.name}+0+{first:010}.json": b"".join(b'{"n": %d}\n' % n for n in range(first, first + 10))
        for first in (0, 10)
    }
    eventually(lambda: position(objects).get((objects.name, 0)) == 20)
    objects.send([b'{"n": %d}' % n for n in range(25, 30)], partition=0)
    eventually(lambda: len(objects.objects()) == 3)
    assert worker.state(objects.connector) == "RUNNING"


def test_committed_records_are_stored_while_a_transaction_is_open(worker: Worker, objects: ObjectPipe) -> None:
    transactions = Transactions(objects.settings.bootstrap_servers, objects.name)
    transactions.begin(b"%d" % n for n in range(12))
    transactions.commit()
    transactions.begin(b"%d" % n for n in range(100, 120))
    worker.client.put_config(objects.connector, objects.config(consumer__override__isolation__level="read_committed"))
    eventually(lambda: objects.lines() == [b"%d" % n for n in range(10)])

    transactions.abort()
    transactions.begin(b"%d" % n for n in range(12, 20))
    transactions.commit()
    eventually(lambda: objects.lines() == [b"%d" % n for n in range(20)])
    assert worker.state(objects.connector) == "RUNNING"


def test_a_schedule_stores_what_waits(worker: Worker, objects: ObjectPipe) -> None:
    schedule = {"rotate.schedule.interval.ms": "2000", "timezone": "UTC", "flush.size": "1000"}
    worker.client.put_config(objects.connector, objects.config() | schedule)
    objects.send([b"1", b"2", b"3"], partition=1)
    eventually(lambda: sorted(objects.lines()) == [b"1", b"2", b"3"])


def test_a_schedule_that_the_store_does_not_take_is_stored_later(worker: Worker, objects: ObjectPipe) -> None:
    """The position stays, nothing is tried within retry.backoff.ms, and then the object has the same name."""
    gate = Gate(urlsplit(worker.settings.s3_endpoint).port or 0)
    backoff_s = 1.5
    with gate.running():
        more = {
            **through(worker, gate),
            "rotate.schedule.interval.ms": "1000",
            "timezone": "UTC",
            "flush.size": "1000",
            "s3.part.retries": "0",
            "retry.backoff.ms": str(round(1000 * backoff_s)),
        }
        worker.client.put_config(objects.connector, objects.config() | more)
        eventually(lambda: worker.state(objects.connector) == "RUNNING")
        gate.shut()
        objects.send([b'{"n":%d}' % n for n in range(3)], partition=0)
        eventually(lambda: worker.state(objects.connector) == "RESTARTING")
        failed = time.monotonic()
        gate.open()
        while time.monotonic() < failed + backoff_s / 2:
            assert objects.names() == []
        assert position(objects).get((objects.name, 0), 0) == 0
        eventually(objects.objects)
        eventually(lambda: position(objects).get((objects.name, 0)) == 3)
        eventually(lambda: worker.state(objects.connector) == "RUNNING")
    assert objects.lines(0) == [b'{"n":0}', b'{"n":1}', b'{"n":2}']
    assert f"partition=0/{objects.name}+0+0000000000.json" in objects.names()


def through(worker: Worker, gate: Gate) -> dict[str, str]:
    """Keys of a connector that reaches the store through a gate."""
    return {
        "store.url": f"http://127.0.0.1:{gate.port}",
        "aws.access.key.id": worker.settings.access_key,
        "aws.secret.access.key": worker.settings.secret_key,
    }


def test_parquet_and_dead_letters(worker: Worker, objects: ObjectPipe) -> None:
    more = {"format.class": FORMAT + "parquet.ParquetFormat", "errors.tolerance": "all"}
    replicas = {"errors.deadletterqueue.topic.replication.factor": "1"}
    worker.client.put_config(objects.connector, objects.config() | more | replicas)
    objects.send([b'{"n":%d}' % n if n != 3 else b"{" for n in range(11)], partition=0)
    eventually(lambda: objects.objects())
    ((name, data),) = objects.objects().items()
    assert name.endswith("+0000000000.snappy.parquet")
    assert [row["n"] for row in pq.read_table(io.BytesIO(data)).to_pylist()] == [n for n in range(11) if n != 3]
    letters = messages(objects.settings.bootstrap_servers, f"{objects.name}-dlq")
    assert [letter.value() for letter in letters] == [b"{"]


def test_a_bucket_that_does_not_exist(worker: Worker, objects: ObjectPipe) -> None:
    worker.client.put_config(objects.connector, objects.config() | {"s3.bucket.name": "no-such-bucket"})
    eventually(lambda: worker.state(objects.connector) == "FAILED")
    assert "Non-existent S3 bucket: no-such-bucket" in worker.trace(objects.connector)


SCHEDULE = {"rotate.schedule.interval.ms": "1000", "timezone": "UTC", "flush.size": "2000"}
WALLCLOCK = {
    **SCHEDULE,
    "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
    "path.format": "'minute'=mm/'second'=ss",
    "partition.duration.ms": "2000",
    "rotate.interval.ms": "3000",
    "locale": "en",
    "timestamp.extractor": "Wallclock",
}


class Watch:
    """Looks at the objects of a pipe again and again: one that was seen stays as it is."""

    def __init__(self, pipe: ObjectPipe) -> None:
        self._pipe = pipe
        self._seen: dict[str, bytes] = {}
        self._stop = threading.Event()
        self.changed: list[str] = []

    @contextmanager
    def running(self) -> Iterator[Watch]:
        with ThreadPoolExecutor(1) as thread:
            looks = thread.submit(self._look)
            try:
                yield self
            finally:
                self._stop.set()
                looks.result()

    def _look(self) -> None:
        while not self._stop.wait(0.2):
            found = self._pipe.objects()
            self.changed += [name for name, data in self._seen.items() if found.get(name) != data]
            self._seen = found


def _kill(stack: LocalStack, home: Path, name: str, kills: int, more: dict[str, str]) -> ObjectPipe:
    """Kill a worker while it stores; every record is in the objects once, and no object changes. Returns the pipe."""
    worker = own_worker(stack.settings, home)
    pipe = ObjectPipe(worker.settings, name).create()
    rng = random.Random(5)
    sent: dict[int, list[bytes]] = {0: [], 1: []}
    with Watch(pipe).running() as watch:
        for kill in range(kills):
            worker.start()
            if not kill:
                worker.client.put_config(pipe.connector, pipe.config() | more)
            for part, lines in sent.items():
                new = [b'{"kill":%d,"n":%d}' % (kill, n) for n in range(5000)]
                pipe.send(new, partition=part)
                lines += new
            time.sleep(rng.uniform(0, 3))
            worker.client.close()
            worker.kill()
        with worker:
            eventually(lambda: len(pipe.lines()) >= sum(map(len, sent.values())))
            eventually(lambda: sum(position(pipe).values()) == 10_000 * kills)
    assert watch.changed == []
    assert {part: pipe.lines(part) for part in sent} == sent
    return pipe


def _check_names(pipe: ObjectPipe, lines: int, flush: int) -> None:
    """Objects are those of a connector that nobody disturbs: they begin at each multiple of the flush size."""
    expected = {
        f"partition={part}/{pipe.name}+{part}+{first:010}.json" for part in (0, 1) for first in range(0, lines, flush)
    }
    assert pipe.objects().keys() == expected


@pytest.mark.outage
@pytest.mark.timeout(600)
@pytest.mark.faults
def test_a_kill(stack: LocalStack, tmp_path: Path) -> None:
    _check_names(_kill(stack, tmp_path, "objects-killed", 1, {"flush.size": "500"}), 5_000, 500)


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_ten_kills(stack: LocalStack, tmp_path: Path) -> None:
    _check_names(_kill(stack, tmp_path, "objects-killed-often", 10, {"flush.size": "500"}), 50_000, 500)


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("more", [SCHEDULE, WALLCLOCK], ids=["schedule", "wallclock"])
def test_ten_kills_with_the_wall_clock(stack: LocalStack, tmp_path: Path, more: dict[str, str]) -> None:
    _kill(stack, tmp_path, f"objects-killed-{len(more)}", 10, more)


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_a_store_that_is_down_under_load(stack: LocalStack, tmp_path: Path) -> None:
    """A minute and a half, until the circuit breaker opens; nothing is lost or doubled, and memory stays as it was."""
    gate = Gate(urlsplit(stack.settings.s3_endpoint).port or 0)
    total, rate, outage_s = 0, 20_000, 90
    with gate.running(), own_worker(stack.settings, tmp_path) as worker:
        pipe = ObjectPipe(worker.settings, "objects-outage").create()
        more = {**through(worker, gate), "flush.size": "5000", "retry.backoff.ms": "500"}
        worker.client.put_config(pipe.connector, pipe.config() | more)
        padding = b"x" * 800

        def load(seconds: float) -> None:
            nonlocal total
            begin = time.monotonic()
            while time.monotonic() - begin < seconds:
                for part in (0, 1):
                    values = (b'{"n":%d,"p":"%s"}' % (n, padding) for n in range(total // 2, total // 2 + rate // 2))
                    pipe.send(values, partition=part)
                total += rate
                time.sleep(max(0.0, begin + total / rate - time.monotonic()) if total < rate * seconds else 0)

        load(10)
        eventually(lambda: len(pipe.names()) > 10)
        before = _memory(worker.pid)
        gate.shut()
        states, peak = set(), 0
        with ThreadPoolExecutor(1) as thread:
            loading = thread.submit(load, outage_s)
            while not loading.done():
                states |= {breaker_state(worker, pipe.connector)}
                peak = max(peak, _memory(worker.pid))
                time.sleep(1)
            loading.result()
        assert worker.state(pipe.connector) == "RESTARTING"
        assert "does not take" in worker.trace(pipe.connector)
        assert {"closed", "open"} <= states
        gate.open()
        eventually(lambda: sum(position(pipe).values()) == total)
        eventually(lambda: worker.state(pipe.connector) == "RUNNING")
        eventually(lambda: breaker_state(worker, pipe.connector) == "closed")
        peak = max(peak, _memory(worker.pid))
    assert len(pipe.names()) == total // 5000
    for part in (0, 1):
        numbers = [int(line[5 : line.index(b",")]) for line in pipe.lines(part)]
        assert numbers == list(range(total // 2))
    assert peak < before + (1 << 30), f"{before >> 20} MiB before, {peak >> 20} MiB at most"


def _memory(pid: int) -> int:
    """Bytes that a worker and its children have for themselves."""
    found = 0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            found += process.memory_full_info().pss
    return found


def breaker_state(worker: Worker, connector: str) -> str:
    """The state of the circuit breaker as the metrics tell it."""
    url = f"http://127.0.0.1:{worker.settings.actuator_port}/actuator/prometheus"
    for family in text_string_to_metric_families(httpx.get(url).text):
        for sample in family.samples:
            if (
                sample.name == "frazil_circuit_breaker_state"
                and sample.labels["connector"] == connector
                and sample.value
            ):
                return sample.labels["state"]
    return "none"
