"""Object sinks: a full topic into objects of each format, many small objects, and a steady rate."""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import boto3
import httpx
import numpy as np
import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from bench.drain import wait_until_running
from bench.environment import Show, running, with_home
from bench.load import PARTITIONS, Pace, create_topic
from bench.results import ObjectDrain, ObjectRate
from bench.sampling import TreeSampler, cpu_between
from bench.systems import FRAZIL, Connector
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka.security import secured
from frazil.connectors.keys.overrides import group_id
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError

BUCKET = "bench-objects"
Form = Literal["json", "parquet"]
_FORMAT = "io.confluent.connect.s3.format."
_CLASSES: dict[Form, str] = {"json": "json.JsonFormat", "parquet": "parquet.ParquetFormat"}
_LOOK_S = 0.02
_DRAIN_LOOK_S = 0.2
_STATUS_S = 2.0
_SLOWEST_RATE = 1_000
_SETTLE_S = 3.0
_LAST_S = 120
WARM_S = 30
"""From so long after the start of a steady rate on, a worker counts as warm."""
Histogram = list[tuple[float, float]]
"""Upper bounds, and how many values are not above them."""


@dataclass(frozen=True)
class Load:
    """Records that go to the partitions in turn: record `i` has offset `i // PARTITIONS` of `i % PARTITIONS`."""

    topic: str
    count: int
    hashes: Sequence[str]
    """Of the lines of each partition, one behind the other."""
    acknowledged_at: float
    """When the broker had the last record."""


def fill_in_turn(settings: Settings, topic: str, values: Iterable[bytes], count: int, show: Show) -> Load:
    """Create a topic and produce records into it. Raises TerminalError when the broker does not take all of them."""
    create_topic(settings, topic)

    def told() -> Iterator[bytes]:
        for number, value in enumerate(values):
            if number % 50_000 == 0:
                show(f"producing to {topic}: {number:,} of {count:,} records")
            yield value

    return produce_in_turn(settings, topic, told(), count)


def produce_in_turn(settings: Settings, topic: str, values: Iterable[bytes], count: int) -> Load:
    """Return when the broker has all records. Raises TerminalError when it has fewer than `count`."""
    refused: list[Any] = []
    sent = 0
    hashes = [hashlib.sha256() for _ in range(PARTITIONS)]
    own = {"acks": "all", "enable.idempotence": True, "linger.ms": 5, "compression.type": "lz4", "log_level": 0}
    producer = Producer(
        {
            **secured(settings.bootstrap_servers, "producer"),
            **own,
            "on_delivery": lambda error, _: refused.append(error) if error else None,
        }
    )
    for sent, value in enumerate(values, 1):
        partition = (sent - 1) % PARTITIONS
        hashes[partition].update(value + b"\n")
        while True:
            try:
                producer.produce(topic, value, partition=partition)
                break
            except BufferError:
                producer.poll(0.05)
        if sent % 1000 == 0:
            producer.poll(0)
    left = producer.flush(60)
    if refused or left or sent != count:
        raise TerminalError(f"{topic} has not all of {count:,} records; nothing was measured")
    return Load(topic, count, [each.hexdigest() for each in hashes], time.time())


def drain_objects(settings: Settings, load: Load, form: Form, flush: int, run: str, show: Show) -> ObjectDrain:
    """From the moment at which the connector is sent until the position is behind the last complete object."""
    complete = [_complete(load.count, partition, flush) for partition in range(PARTITIONS)]
    config = sink_config(settings, load.topic, run, form, {"flush.size": str(flush)})
    with _started(settings, run, show) as (connector, sampler):
        begin = time.time()
        connector.deploy(config)
        looks = _positions(
            settings, run, load.topic, complete, connector, load.count / _SLOWEST_RATE + 120, _DRAIN_LOOK_S, show
        )
        sampler.take()
        writes = _write_times(settings, run)
    end = looks[-1][0]
    found = Stored.read(settings, run, form, show)
    kept = sum(complete)
    exact = found.rows == kept and (form != "json" or kept < load.count or found.hashes == list(load.hashes))
    warm = warm_looks(looks, kept)
    warm_rate = warm_per_cpu_s = None
    if warm is not None:
        (first_at, first), (last_at, last) = warm
        warm_rate = (last - first) / (last_at - first_at)
        warm_per_cpu_s = (last - first) / cpu_between(sampler.samples, first_at, last_at)
    return ObjectDrain(
        title=f"{'JSON Lines' if form == 'json' else 'Parquet'}, flush.size={flush:,}",
        records=kept,
        objects=found.objects,
        bytes=found.bytes,
        seconds=end - begin,
        warm_rate=warm_rate,
        warm_per_cpu_s=warm_per_cpu_s,
        cpu_s=cpu_between(sampler.samples, begin, end),
        peak_pss=max(sample.pss for sample in sampler.samples),
        write_p99_s=quantile(writes, 0.99),
        exact=exact and max((count for _, count in writes), default=0) == found.objects,
    )


def steady_objects(
    settings: Settings, values: Iterable[bytes], rate: int, seconds: int, flush: int, run: str, show: Show
) -> ObjectRate:
    """Records at a steady rate into objects of `flush` records, or of what a second brings.

    A record's latency counts from the moment at which it was due to be produced until the position was behind it, and
    that moves when its object is durable. Raises FrazilError when the connector fails or records stay away.
    """
    topic, count = f"bench-{run}", rate * seconds
    create_topic(settings, topic)
    schedule = {"flush.size": str(flush), "rotate.schedule.interval.ms": "1000", "timezone": "UTC"}
    begun: list[Histogram] = []
    with _started(settings, run, show) as (connector, sampler):
        connector.deploy(sink_config(settings, topic, run, "json", schedule))
        wait_until_running(connector, show)
        time.sleep(_SETTLE_S)
        pace = Pace(time.time() + 0.5, rate)
        complete = [_complete(count, partition, 1) for partition in range(PARTITIONS)]

        def look() -> None:
            if sent.done():
                sent.result()
            if not begun and time.time() > pace.first + WARM_S:
                begun.append(_write_times(settings, run))

        with ThreadPoolExecutor(1, thread_name_prefix="producer") as executor:
            sent = executor.submit(produce_in_turn, settings, topic, pace(values), count)
            try:
                looks = _positions(
                    settings,
                    run,
                    topic,
                    complete,
                    connector,
                    seconds + _LAST_S,
                    _LOOK_S,
                    show,
                    look,
                )
            finally:
                pace.stop()
            load = sent.result()
        sampler.take()
        ended = _write_times(settings, run)
    seen = latencies(looks, pace.first, rate, count)
    found = Stored.read(settings, run, "json", show)
    p50, p99 = np.percentile(seen, [50, 99])
    warm = latencies(looks, pace.first, rate, count, WARM_S * rate)
    return ObjectRate(
        title=f"flush.size={flush:,} or 1 s",
        rate=rate,
        records=count,
        objects=found.objects,
        p50_s=float(p50),
        p99_s=float(p99),
        max_s=float(seen.max()),
        warm_p99_s=float(np.percentile(warm, 99)) if begun else None,
        write_p99_s=quantile(ended, 0.99),
        warm_write_p99_s=quantile(_since(begun[0], ended), 0.99) if begun else None,
        producer_delay_s=pace.worst_delay,
        cores=cpu_between(sampler.samples, pace.first, looks[-1][0]) / (load.acknowledged_at - pace.first),
        peak_pss=max(sample.pss for sample in sampler.samples),
        exact=found.hashes == list(load.hashes),
    )


def latencies(
    looks: Sequence[tuple[float, Sequence[int]]], first: float, rate: int, count: int, begin: int = 0
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Seconds from the moment each record was due until a look saw the position behind it, from record `begin` on."""
    at = np.array([moment for moment, _ in looks])
    found: list[Any] = []
    for partition in range(PARTITIONS):
        numbers = np.arange(partition, count, PARTITIONS)
        numbers = numbers[numbers >= begin]
        positions = np.array([each[partition] for _, each in looks])
        seen = at[np.searchsorted(positions, numbers // PARTITIONS, side="right")]
        found.append(seen - (first + (numbers + 1) / rate))
    return np.concatenate(found)


def sink_config(settings: Settings, topic: str, run: str, form: Form, more: dict[str, str]) -> dict[str, str]:
    """The S3 sink into the store of the bench, everything of a run below a folder of its own."""
    return {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "tasks.max": "2",
        "topics": topic,
        "topics.dir": run,
        "s3.bucket.name": BUCKET,
        "s3.region": settings.region,
        "store.url": settings.s3_endpoint,
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "format.class": _FORMAT + _CLASSES[form],
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **more,
    }


@contextmanager
def _started(settings: Settings, run: str, show: Show) -> Iterator[tuple[Connector, TreeSampler]]:
    store = _store(settings)
    if BUCKET not in [bucket["Name"] for bucket in store.list_buckets()["Buckets"]]:
        store.create_bucket(Bucket=BUCKET)
    service = FRAZIL.worker(with_home(settings, settings.home / "workers" / run))
    with (
        running(service, show) as process,
        ConnectClient(settings.connect_url) as client,
        TreeSampler(process) as sampler,
    ):
        yield Connector(client, settings, run), sampler


def _store(settings: Settings) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint,
        region_name=settings.region,
        aws_access_key_id=settings.access_key,
        aws_secret_access_key=settings.secret_key,
    )


def _complete(count: int, partition: int, flush: int) -> int:
    """How many records of a partition are in complete objects."""
    return len(range(partition, count, PARTITIONS)) // flush * flush


def _positions(
    settings: Settings,
    run: str,
    topic: str,
    wanted: Sequence[int],
    connector: Connector,
    seconds: float,
    look_s: float,
    show: Show,
    check: Callable[[], None] = lambda: None,
) -> list[tuple[float, Sequence[int]]]:
    """What the group's positions were, and when, each time that they changed, until they are the wanted ones.

    Raises ServiceUnavailable when they are not in time.
    """
    own = {"group.id": group_id(run, {}), "enable.auto.commit": False}
    consumer = Consumer({**secured(settings.bootstrap_servers, "consumer"), **own})
    partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
    looks: list[tuple[float, Sequence[int]]] = []
    begin = next_status = time.monotonic()
    try:
        while True:
            found = _committed(consumer, partitions)
            if not looks or found != looks[-1][1]:
                looks.append((time.time(), found))
            if all(a >= b for a, b in zip(found, wanted, strict=True)):
                return looks
            now = time.monotonic()
            if now - begin > seconds:
                raise ServiceUnavailable(
                    f"{run}: stored up to {found} of {wanted} after {seconds:.0f} s; it was stopped"
                )
            if now >= next_status:
                connector.runs()
                check()
                next_status = now + _STATUS_S
                show(f"{run}: {sum(found):,} of {sum(wanted):,} records stored after {now - begin:.0f} s")
            time.sleep(look_s)
    finally:
        consumer.close()


def _committed(consumer: Consumer, partitions: list[TopicPartition]) -> list[int]:
    """The positions; 0 while the group has no coordinator yet."""
    try:
        return [max(each.offset, 0) for each in consumer.committed(partitions, timeout=10)]
    except KafkaException as error:
        if error.args[0].code() not in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE):
            raise
        return [0] * len(partitions)


def warm_looks(
    looks: Sequence[tuple[float, Sequence[int]]], records: int
) -> tuple[tuple[float, int], tuple[float, int]] | None:
    """When the first objects were stored, and 95 % of the records, with how many; None when these came at once."""
    moving = [(at, sum(found)) for at, found in looks if any(found)]
    last = next(((at, total) for at, total in moving if total >= 0.95 * records), None)
    return (moving[0], last) if last is not None and last != moving[0] else None


def _write_times(settings: Settings, connector: str) -> Histogram:
    """How long objects took, of the worker's metrics."""
    url = f"http://127.0.0.1:{settings.actuator_port}/actuator/prometheus"
    text = httpx.get(url, trust_env=False).raise_for_status().text
    bounds: Histogram = []
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "frazil_object_write_duration_seconds_bucket" and sample.labels["connector"] == connector:
                bounds.append((float(sample.labels["le"]), sample.value))
    return bounds


def _since(begun: Histogram, ended: Histogram) -> Histogram:
    """What came to a histogram between two looks."""
    before = dict(begun)
    return [(bound, count - before[bound]) for bound, count in ended]


def quantile(bounds: Histogram, share: float) -> float:
    """The quantile of a histogram, interpolated in its bucket as Prometheus does it; 0 when it is empty."""
    total = max((count for _, count in bounds), default=0.0)
    low, below = 0.0, 0.0
    for bound, count in sorted(bounds):
        if total and count >= share * total:
            if bound == float("inf"):
                return low
            return low + (bound - low) * (share * total - below) / (count - below)
        low, below = bound, count
    return 0.0


@dataclass(frozen=True)
class Stored:
    """What a run has stored; `hashes` are those of the lines of each partition, for JSON Lines."""

    objects: int
    bytes: int
    rows: int
    hashes: Sequence[str]

    @classmethod
    def read(cls, settings: Settings, run: str, form: Form, show: Show) -> Stored:
        """Read every object, in the order of their offsets."""
        store = _store(settings)
        pages = store.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{run}/")
        names = [each["Key"] for page in pages for each in page.get("Contents", ())]
        named = [name for name in names if "/_topics/" not in name]
        hashes = [hashlib.sha256() for _ in range(PARTITIONS)]
        size = rows = 0
        for number, name in enumerate(sorted(named)):
            if number % 200 == 0:
                show(f"reading object {number:,} of {len(named):,}")
            data = store.get_object(Bucket=BUCKET, Key=name)["Body"].read()
            size += len(data)
            if form == "parquet":
                rows += pq.ParquetFile(io.BytesIO(data)).metadata.num_rows
            else:
                rows += data.count(b"\n")
                hashes[int(name.rpartition("/")[2].split("+")[1])].update(data)
        return cls(len(named), size, rows, [each.hexdigest() for each in hashes])
