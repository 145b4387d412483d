"""Makes the WorkerGroup that a worker's configuration describes."""

from __future__ import annotations

from frazil.connectors.keys.versions import VERSION
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.worker import WorkerConfig
from frazil.worker.cluster.group import GroupConfig, WorkerGroup
from frazil.worker.cluster.member import Timing
from frazil.worker.storage.topics import StorageTopic
from frazil.worker.watch.loggers import Loggers


def worker_group(worker: WorkerConfig, bootstrap: Bootstrap, loggers: Loggers) -> WorkerGroup:
    """Make the WorkerGroup of `group.id`, and the storage topics that are missing. Raises as `WorkerGroup` does."""
    parsed = worker.parsed
    config = GroupConfig(
        group=parsed.text("group.id"),
        config_topic=_topic(worker, "config", 1),
        status_topic=_topic(worker, "status", parsed.number("status.storage.partitions")),
        offset_topic=_topic(worker, "offset", parsed.number("offset.storage.partitions")),
        url=worker.advertised.url,
        timing=Timing(
            parsed.number("session.timeout.ms"),
            parsed.number("heartbeat.interval.ms"),
            parsed.number("rebalance.timeout.ms"),
        ),
    )
    return WorkerGroup(config, bootstrap, VERSION, loggers.set)


def _topic(worker: WorkerConfig, kind: str, partitions: int) -> StorageTopic:
    key = f"{kind}.storage.topic"
    replication = worker.parsed.number(f"{kind}.storage.replication.factor")
    return StorageTopic(key, worker.parsed.text(key), partitions, replication, single=kind == "config")
