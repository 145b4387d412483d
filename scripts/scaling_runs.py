"""The runs of the test of scaling: a stack, a Spark cluster and a topic, and connectors that store it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environment import isolated_settings
from bench.sampling import Sample, sample_tree
from scripts.spark_cluster import SparkCluster

from frazil.cli.ui.progress import Records
from frazil.cli.verbs.stack import worker_service
from frazil.clients.connect import ConnectClient
from frazil.clients.credentials import with_store_access
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.objects import ObjectStore
from frazil.connectors.keys.overrides import group_id
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError
from frazil.stack.local import LocalStack

ROOT = Path(__file__).resolve().parents[1]
TOPIC = "user-events"
_SCHEMA = ROOT / "docs" / "examples" / "schemas" / "user-events-schema.json"
_RUN_S = 300
_CORES_S = 60
_POLL_S = 0.2
_BATCHES = 6
"""So many a run has; the first one, with the connector's start, is not timed."""
_OBJECTS = 4
"""So many a batch has of each partition."""
_NO_MEMORY = Sample(0.0, 0.0, 0, 0)


@dataclass(frozen=True)
class Load:
    """What is stored in each run: so many records of a topic with so many partitions."""

    records: int
    partitions: int

    @property
    def flush_size(self) -> int:
        """Records of an object."""
        return max(self.records // self.partitions // (_OBJECTS * _BATCHES), 1)

    @property
    def batch(self) -> int:
        """Most records of a batch, over all partitions; dead letters among them have room."""
        return (_OBJECTS * self.flush_size + self.flush_size // 8) * self.partitions

    @property
    def tail(self) -> int:
        """A run is over when fewer records of each partition wait: with dead letters among them less than two objects
        may not be complete yet."""
        return 2 * self.flush_size


@dataclass(frozen=True)
class Moment:
    """A look at a run: records up to the positions, and CPU seconds of all Spark workers."""

    at: float
    records: int
    cpu_s: float


@dataclass(frozen=True)
class Outcome:
    """One run: the moments behind its first batch and at its end; `check` is what `verify` tells."""

    workers: str
    first: Moment
    last: Moment
    check: Sequence[Mapping[str, Any]]
    killed: bool = False

    @property
    def rate(self) -> float:
        """Records per second."""
        return (self.last.records - self.first.records) / max(self.last.at - self.first.at, _POLL_S)

    @property
    def per_cpu_s(self) -> float | None:
        """Records per CPU second of the Spark workers; None when one of them took its count along."""
        spent = self.last.cpu_s - self.first.cpu_s
        return None if self.killed or spent <= 0 else (self.last.records - self.first.records) / spent

    def total(self, column: str) -> int:
        """A column of `verify` over all partitions."""
        values = [one[column] for one in self.check]
        return sum(value if isinstance(value, int) else len(value) for value in values)

    @property
    def complete(self) -> bool:
        """Whether each record was stored once, or has a dead letter."""
        return bool(self.check) and all(one["complete"] for one in self.check)


class ScalingTest:
    """The parts and the runs; `say` gets what it does now."""

    def __init__(self, home: Path, load: Load, say: Callable[[str], None]) -> None:
        self._load = load
        self._say = say
        plain = isolated_settings(home, TMPDIR=str(home))
        self.cluster = SparkCluster(plain)
        self._settings = Settings.load({**plain.env, **self.cluster.env}, env_file=Path(os.devnull))
        self._stack = LocalStack(self._settings)
        self._worker = worker_service(self._settings)
        self._bootstrap = self._settings.bootstrap_servers
        self._ends: Mapping[tuple[str, int], int] = {}

    def start(self) -> None:
        """Start everything, with one Spark worker, and fill the topic."""
        self._stack.start(self._say)
        self.cluster.prepare()
        self.cluster.master.start(self._say)
        self.cluster.add_worker().start(self._say)
        self._worker.start(self._say)
        kafka_topics.ensure_topics(self._bootstrap, {TOPIC: (self._load.partitions, {})})
        store = with_store_access(object_sink_config(self._connector("setup")).store, self._settings)
        ObjectStore(store).create()
        self._say(f"loading {self._load.records:,} records into {self._load.partitions} partitions of {TOPIC}")
        self._program(str(ROOT / "scripts" / "generate-test-load.sh"), str(self._load.records), TOPIC)
        self._ends = kafka_offsets.end_offsets(self._bootstrap, [TOPIC])

    def grow(self, workers: int) -> None:
        """Add Spark workers while the frazil worker runs, until there are so many and it has all their cores.

        The topic is stored once then, so that new executors have loaded and compiled their classes before a run.
        """
        while len(self.cluster.workers) < workers:
            self.cluster.add_worker().start(self._say)
        deadline = time.monotonic() + _CORES_S
        while self.cluster.cores_used() < workers:
            if time.monotonic() > deadline:
                raise ServiceUnavailable(
                    f"the frazil worker did not get {workers} cores of the Spark cluster within {_CORES_S} s; see the "
                    "logs of spark-master and worker"
                )
            time.sleep(_POLL_S)
        self._store(f"warm-up-{workers}")

    def run(self, name: str, *, kill: bool = False) -> Outcome:
        """Store the topic with a connector of its own; with `kill` a Spark worker ends when a third is stored.

        Raises TerminalError when the connector fails, ServiceUnavailable when it takes too long.
        """
        workers, first, last = self._store(name, kill=kill)
        return Outcome(workers, first, last, self._verify(name), killed=kill)

    def _store(self, name: str, *, kill: bool = False) -> tuple[str, Moment, Moment]:
        config = self._connector(name)
        workers, first, killing = str(len(self.cluster.workers)), None, kill
        deadline = time.monotonic() + _RUN_S
        with ConnectClient(self._settings.connect_access) as client:
            client.put_config(name, config)
            while True:
                positions = kafka_groups.group_offsets(self._bootstrap, group_id(name, config), self._ends)
                now = self._moment(sum(positions.values()))
                self._say(Records(f"{name}: records", now.records, self._load.records))
                if first is None and now.records:
                    first = now
                if killing and now.records * 3 >= self._load.records:
                    killing = False
                    workers += f", {self.cluster.kill_last_worker()} killed at {now.records:,}"
                if all(end - positions.get(key, 0) < self._load.tail for key, end in self._ends.items()):
                    break
                _require_running(client, name, deadline)
                time.sleep(_POLL_S)
            client.stop(name)
        return workers, first or now, now

    def stop(self) -> None:
        """Stop whatever was started."""
        self._worker.stop()
        self.cluster.stop()
        self._stack.stop()

    def _moment(self, records: int) -> Moment:
        samples = [sample_tree(process, _NO_MEMORY) for process in self.cluster.processes()]
        return Moment(time.monotonic(), records, sum(sample.cpu_s for sample in samples if sample is not None))

    def _connector(self, name: str) -> dict[str, str]:
        return {
            "name": name,
            "connector.class": "io.confluent.connect.s3.S3SinkConnector",
            "storage.class": "io.confluent.connect.s3.storage.S3Storage",
            "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "topics": TOPIC,
            "s3.bucket.name": "scaling",
            "store.url": self._settings.s3_endpoint,
            "topics.dir": name,
            "flush.size": str(self._load.flush_size),
            "frazil.batch.max.records": str(self._load.batch),
            "frazil.schema.file": str(_SCHEMA),
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{name}-dlq",
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        }

    def _verify(self, name: str) -> Sequence[Mapping[str, Any]]:
        self._say(f"{name}: comparing the topic with its objects")
        answer = self._program(sys.executable, "-m", "frazil.cli.main", "verify", name, "-o", "json", codes=(0, 1))
        found: Sequence[Mapping[str, Any]] = json.loads(answer)
        return found

    def _program(self, *command: str, codes: Sequence[int] = (0,)) -> str:
        """What a program prints; it and its children are ended with this one. Raises TerminalError when it fails."""
        env = {**self._settings.env, "FRAZIL_ENV_FILE": os.devnull}
        with subprocess.Popen(  # noqa: S603
            command,
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                printed, said = process.communicate()
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                raise
        if process.returncode not in codes or not printed:
            raise TerminalError(f"{Path(command[0]).name} ended with exit code {process.returncode}: {said.strip()}")
        return printed


def _require_running(client: ConnectClient, name: str, deadline: float) -> None:
    status = client.status(name)["connector"]
    if status["state"] == "FAILED":
        raise TerminalError(f"connector {name} is FAILED: {status.get('trace', '').partition(chr(10))[0]}")
    if time.monotonic() > deadline:
        raise ServiceUnavailable(f"connector {name} has not stored the topic within {_RUN_S} s")
