"""Object sinks in a worker: what is stored, what is read again, kills at any moment."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from frazil.clients import kafka
from frazil.stack.local import LocalStack
from tests.acceptance.objects import ObjectPipe
from tests.harness import Worker, eventually, messages, own_worker

pytestmark = pytest.mark.spark

FORMAT = "io.confluent.connect.s3.format."


@pytest.fixture
def objects(worker: Worker, request: pytest.FixtureRequest) -> Iterator[ObjectPipe]:
    made = ObjectPipe(worker.settings, request.node.name.replace("_", "-")).create()
    yield made
    worker.client.delete(made.connector)


def position(pipe: ObjectPipe) -> dict[tuple[str, int], int]:
    return kafka.group_offsets(
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


def test_a_schedule_stores_what_waits(worker: Worker, objects: ObjectPipe) -> None:
    schedule = {"rotate.schedule.interval.ms": "2000", "timezone": "UTC", "flush.size": "1000"}
    worker.client.put_config(objects.connector, objects.config() | schedule)
    objects.send([b"1", b"2", b"3"], partition=1)
    eventually(lambda: sorted(objects.lines()) == [b"1", b"2", b"3"])


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
    assert "Non-existent S3 bucket: no-such-bucket" in worker.client.status(objects.connector)["connector"]["trace"]


def _kill(stack: LocalStack, home: Path, name: str, kills: int) -> None:
    """Kill a worker while it stores; its objects are those of one that nobody disturbed."""
    worker = own_worker(stack.settings, home)
    disturbed, calm = ObjectPipe(worker.settings, name).create(), ObjectPipe(worker.settings, f"{name}-calm").create()
    rng = random.Random(5)
    config = {"flush.size": "500"}
    for kill in range(kills):
        worker.start()
        if not kill:
            worker.client.put_config(disturbed.connector, disturbed.config() | config)
        for pipe in (disturbed, calm):
            for part in (0, 1):
                pipe.send([b'{"kill":%d,"n":%d}' % (kill, n) for n in range(5000)], partition=part)
        time.sleep(rng.uniform(0, 3))
        worker.client.close()
        worker.kill()
    with worker:
        worker.client.put_config(calm.connector, calm.config() | config)
        count = 2 * kills * 10
        eventually(lambda: len(calm.objects()) == count, timeout=120)
        eventually(lambda: len(disturbed.objects()) == count, timeout=120)
        calm_objects = {key.replace(calm.name, name): data for key, data in calm.objects().items()}
        assert disturbed.objects() == calm_objects


@pytest.mark.outage
@pytest.mark.timeout(600)
def test_two_kills(stack: LocalStack, tmp_path: Path) -> None:
    _kill(stack, tmp_path, "objects-killed", 2)


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_ten_kills(stack: LocalStack, tmp_path: Path) -> None:
    _kill(stack, tmp_path, "objects-killed-often", 10)
