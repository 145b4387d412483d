"""A group of workers that share connectors: which worker runs which, and at which URL it answers."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.connectors.keys.versions import VERSION
from frazil.engine.runner_api import STOP_S
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.worker import WorkerConfig
from frazil.worker.cluster.member import GroupMember, Timing, leader_slot, slot_of
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.storage.configs import ConfigTopic
from frazil.worker.storage.records import WorkerRecord
from frazil.worker.storage.session import SessionKeys
from frazil.worker.storage.statuses import StatusTopic
from frazil.worker.storage.topics import StorageTopic, ensure_storage_topic
from frazil.worker.watch.loggers import Loggers

logger = logging.getLogger(__name__)

_JOIN_S = 60.0
_KEEP_S, _MEMBERS_S, _GONE_S = 0.25, 10.0, 60.0
"""Seconds between two looks whether something is due, between two looks at the members when none is missing, and that
somebody who was a member is known: all are gone for a moment while the group forms anew."""


@dataclass(frozen=True)
class GroupConfig:
    """The group that a worker belongs to, its topics, and the URL that the other workers reach this one at.

    The partitions of the offset topic divide the connectors among the workers.
    """

    group: str
    config_topic: StorageTopic
    status_topic: StorageTopic
    offset_topic: StorageTopic
    url: str
    timing: Timing = field(default_factory=Timing)


class WorkerGroup:
    """Membership of this worker in its group; creating it creates the storage topics that are missing.

    Raises ConfigError for topics that cannot serve, ServiceUnavailable when Kafka does not answer.
    """

    def __init__(
        self,
        config: GroupConfig,
        bootstrap: Bootstrap,
        version: str,
        on_logger: Callable[[str, str], object] = lambda logger, level: None,
    ) -> None:
        for topic in (config.config_topic, config.status_topic):
            ensure_storage_topic(bootstrap, topic)
        self._slots = ensure_storage_topic(bootstrap, config.offset_topic)
        self._leader = leader_slot(self._slots)
        consumer, producer = (
            kafka_client.client_config(bootstrap, "consumer"),
            kafka_client.client_config(bootstrap, "producer"),
        )
        name = config.config_topic.name
        self._url, self._worker_id = config.url, config.url.partition("://")[2]
        self.configs = ConfigTopic(
            consumer,
            producer,
            name,
            config.group,
            lambda: kafka_offsets.end_offsets(bootstrap, [name])[name, 0],
            on_logger,
        )
        self.statuses = StatusTopic(consumer, producer, config.status_topic.name, config.group, version)
        self._bootstrap, self._group = bootstrap, config.group
        self._herder: Herder | None = None
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="group-keeper", daemon=True)
        self._members: dict[str, float] = {}
        self._members_wanted = threading.Event()
        self._member = GroupMember(
            consumer, config.group, config.offset_topic.name, config.url, self._assigned, self._tick, config.timing
        )

    def join(self, herder: Herder) -> None:
        """Become a member; `herder` runs what is assigned to this worker from now on. Raises as `GroupMember.join`."""
        self._herder = herder
        self.statuses.start()
        self.statuses.announce(WorkerRecord(self._worker_id, None))
        self._member.join(_JOIN_S)
        self._keeper.start()

    def close(self) -> None:
        """Leave the group, when the herder has stopped its connectors."""
        self._closing.set()
        self._member.close()
        self.statuses.announce(WorkerRecord(self._worker_id, None))
        self.configs.close()
        self.statuses.close()

    @property
    def leads(self) -> bool:
        """Whether this worker is the leader, which alone changes configurations."""
        return self._leader in self._member.slots

    def runs(self, name: str) -> bool:
        """Whether this worker runs a connector."""
        return slot_of(name, self._slots) in self._member.slots

    def leader_url(self) -> str | None:
        """URL of the leader; None while the group rebalances."""
        return self._of_member(self._leader)

    def workers(self) -> dict[str, bool]:
        """URLs of the members, and which of them is the leader."""
        leader = self.leader_url()
        return {url: url == leader for url in sorted(self._members)}

    def url_of(self, name: str) -> str | None:
        """URL of the worker that runs a connector; None while the group rebalances."""
        return self._of_member(slot_of(name, self._slots))

    @property
    def session(self) -> SessionKeys:
        """Keys for the signatures of requests between workers."""
        return self.configs.session

    @property
    def position(self) -> int:
        """Offset behind the last configuration that this worker has read."""
        return self.configs.position

    def read_until(self, position: int, timeout: float) -> bool:
        """Whether this worker has read the configurations up to that offset within `timeout` seconds."""
        return self.configs.read_until(position, timeout)

    def _assigned(self, slots: frozenset[int]) -> None:
        self.configs.lead(self._leader in slots)
        if self._herder is not None:
            self._herder.own(lambda name: slot_of(name, self._slots) in slots, STOP_S)
            self._announce()
            self.statuses.flush()

    def _of_member(self, slot: int) -> str | None:
        """URL of the member that has a partition.

        Kafka knows the members: whoever else writes the status topic cannot make this worker send requests, and the
        logins of clients with them, to another address.
        """
        urls = self.statuses.urls_of(slot)
        if urls and urls[0] not in self._members:
            self._members_wanted.set()
        return next((url for url in urls if url in self._members), None)

    def _keep(self) -> None:
        """Look at the members now and then and when one is missing, and make keys for signatures while this leads."""
        looked_at = -_MEMBERS_S
        while not self._closing.wait(_KEEP_S):
            try:
                if self._members_wanted.is_set() or time.monotonic() - looked_at > _MEMBERS_S:
                    self._members_wanted.clear()
                    found = kafka_groups.group_members(self._bootstrap, self._group)
                    looked_at = time.monotonic()
                    known = {url: at for url, at in self._members.items() if at > looked_at - _GONE_S}
                    self._members = known | dict.fromkeys(found, looked_at)
                if self.leads and self.session.is_due():
                    self.configs.renew_session()
            except Exception as error:
                logger.warning("group %s: what its workers need to ask each other is not known: %s", self._group, error)

    def _announce(self) -> None:
        if not self._closing.is_set():
            self.statuses.announce(WorkerRecord(self._worker_id, self._url, self._member.slots))

    def _tick(self) -> None:
        if self._herder is None:
            return
        self._herder.remind()
        self._announce()
        if self.leads:
            for worker_id in self.statuses.superseded():
                self.statuses.announce(WorkerRecord(worker_id, None))
            for name in self.statuses.names() - set(self._herder.connectors()):
                self.statuses.forget(name)


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
