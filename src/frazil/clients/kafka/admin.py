"""Administration of a Kafka cluster: topics, ids and offsets. Every call is bounded in time."""

from __future__ import annotations

import base64
import socket
import struct
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    TopicDescription,
)
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from frazil.clients.kafka.security import refusal, watched
from frazil.environment.bootstrap import Bootstrap, Client
from frazil.environment.hosts import is_this_machine
from frazil.errors import ConfigError, FrazilError, NotFound, ServiceUnavailable, TerminalError

TIMEOUT_S = 10.0

Offsets = dict[tuple[str, int], int]
T = TypeVar("T")

_UNREACHABLE = {
    KafkaError._TRANSPORT,  # noqa: SLF001 - librdkafka's own names
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
    KafkaError._WAIT_CACHE,  # noqa: SLF001
    KafkaError._WAIT_COORD,  # noqa: SLF001 - no coordinator was found in the time given
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NETWORK_EXCEPTION,
}
# For a moment after a start or the creation of a topic the cluster answers so; the next try finds it settled.
_SETTLING = {
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.NOT_CONTROLLER,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}


class _Settling(ServiceUnavailable):
    """The cluster is electing a leader or a coordinator."""


_until_settled = retry(
    retry=retry_if_exception_type(_Settling), stop=stop_after_delay(TIMEOUT_S), wait=wait_fixed(0.1), reraise=True
)


def client_config(bootstrap: str, client: Client = "admin") -> dict[str, Any]:
    """Settings that every client of the cluster has.

    Raises ConfigError for security settings that cannot be used, ServiceUnavailable when nothing listens on loopback.
    """
    require_listener(bootstrap)
    return {
        **watched(bootstrap, client),
        "client.id": "frazil",
        "socket.timeout.ms": int(TIMEOUT_S * 1000),
        "enable.metrics.push": False,
        "log_level": 0,
    }


def require_listener(bootstrap: str) -> None:
    """Raise ServiceUnavailable when all addresses are on loopback and nothing listens there.

    A client would try them again for ten seconds and more, as it should with brokers that may be on their way.
    """
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        host = host.rpartition("://")[2].strip("[]")
        if not is_this_machine(host) or not port.isdigit():
            return
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except ConnectionRefusedError:
            continue
        except OSError:
            return
        return
    raise _unavailable(bootstrap, "nothing listens there")


_clients: OrderedDict[tuple[object, ...], AdminClient] = OrderedDict()
_clients_lock = threading.Lock()
_MOST_CLIENTS = 16


def admin(bootstrap: str) -> AdminClient:
    """The administration client of all who see the cluster so; it connects on its first call.

    One that was used last long ago is closed when nobody holds it; keep it until the futures of its calls are done.
    Raises ConfigError for settings that it does not take.
    """
    key = _client_key(bootstrap)
    with _clients_lock:
        found = _clients.get(key)
        if found is not None:
            _clients.move_to_end(key)
    if found is not None:
        require_listener(bootstrap)
        return found
    try:
        made = AdminClient(client_config(bootstrap))
    except KafkaException as error:
        raise _unusable(error) from None
    with _clients_lock:
        _clients[key] = made
        while len(_clients) > _MOST_CLIENTS:
            _clients.popitem(last=False)
    return made


def _client_key(bootstrap: str) -> tuple[object, ...]:
    return (bootstrap if isinstance(bootstrap, Bootstrap) else Bootstrap(bootstrap)).identity("admin")


def _forget_client(bootstrap: str) -> None:
    """Drop the client, so that the next call makes another: it may hold a certificate or a login of before."""
    with _clients_lock:
        _clients.pop(_client_key(bootstrap), None)


def cluster_id(bootstrap: str, timeout: float = TIMEOUT_S) -> str:
    """Id of the cluster. Raises ServiceUnavailable when no broker answers within `timeout` seconds."""
    client = admin(bootstrap)
    return str(_result(client, client.describe_cluster(request_timeout=timeout), bootstrap, "cluster").cluster_id)


@_until_settled
def topics(bootstrap: str) -> list[str]:
    """Names of all topics. Raises ServiceUnavailable when no broker answers."""
    client = admin(bootstrap)
    try:
        return sorted(client.list_topics(timeout=TIMEOUT_S).topics)
    except KafkaException as error:
        client.poll(0)
        raise _translated(error, bootstrap, "topics") from error


@_until_settled
def ensure_topics(
    bootstrap: str, topics: Mapping[str, tuple[int, Mapping[str, str]]], replication: int | None = None
) -> dict[str, bool]:
    """Create topics, given as name → (partitions, configuration); True for each that did not exist before.

    Returns once the broker knows the new topics. An existing topic is left as it is. Without `replication` the
    broker's default counts. Raises ServiceUnavailable or TerminalError; topics created before the failing one stay,
    and the same call may be repeated.
    """
    if not topics:
        return {}
    new = [
        NewTopic(name, partitions, replication_factor=-1 if replication is None else replication, config=dict(config))
        for name, (partitions, config) in topics.items()
    ]
    created: dict[str, bool] = {}
    client = admin(bootstrap)
    futures = client.create_topics(new, operation_timeout=TIMEOUT_S, request_timeout=TIMEOUT_S)
    for name, future in futures.items():
        try:
            future.result(TIMEOUT_S + 1)
            created[name] = True
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise _translated(error, bootstrap, f"topic {name}") from error
            created[name] = False
    _await_visible(client, bootstrap, [name for name, is_new in created.items() if is_new])
    return created


@_until_settled
def partition_counts(bootstrap: str, names: Iterable[str]) -> dict[str, int]:
    """Number of partitions of each topic. Raises NotFound or ServiceUnavailable."""
    found = _descriptions(admin(bootstrap), bootstrap, list(names))
    return {name: len(description.partitions) for name, description in found.items()}


@_until_settled
def topic_settings(bootstrap: str, name: str) -> dict[str, str]:
    """Settings of a topic, those of the broker included. Raises NotFound or ServiceUnavailable."""
    client = admin(bootstrap)
    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    future = client.describe_configs([resource], request_timeout=TIMEOUT_S)[resource]
    return {key: str(entry.value) for key, entry in _result(client, future, bootstrap, f"topic {name}").items()}


@_until_settled
def topic_ids(bootstrap: str, names: Iterable[str]) -> dict[str, str]:
    """Topic id of each topic, as Kafka's tools print it; a topic that is created again gets another one.

    Raises NotFound when a topic does not exist, ServiceUnavailable when no broker answers.
    """
    ids: dict[str, str] = {}
    for name, description in _descriptions(admin(bootstrap), bootstrap, list(names)).items():
        uuid: Any = description.topic_id  # its published type lacks the accessors
        bits = (uuid.get_most_significant_bits(), uuid.get_least_significant_bits())
        ids[name] = base64.urlsafe_b64encode(struct.pack(">qq", *bits)).decode().rstrip("=")
    return ids


@_until_settled
def begin_offsets(bootstrap: str, topics: Iterable[str]) -> Offsets:
    """First offset that is still stored, per (topic, partition). Raises NotFound or ServiceUnavailable."""
    return _list_offsets(bootstrap, list(topics), OffsetSpec.earliest())  # type: ignore[no-untyped-call]


@_until_settled
def end_offsets(bootstrap: str, topics: Iterable[str], *, committed: bool = False) -> Offsets:
    """Offset that the next record will get, per (topic, partition).

    With `committed` that of the first record of an open transaction, where there is one. Raises NotFound or
    ServiceUnavailable.
    """
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    return _list_offsets(bootstrap, list(topics), latest, isolation)


@_until_settled
def offsets_since(bootstrap: str, topics: Iterable[str], since_ms: int) -> Offsets:
    """Offset of the first record that is as new as a time in epoch ms, per (topic, partition) that has one.

    Raises NotFound or ServiceUnavailable.
    """
    wanted = OffsetSpec.for_timestamp(max(since_ms, 0))
    found = _list_offsets(bootstrap, list(topics), wanted)
    return {key: offset for key, offset in found.items() if offset >= 0}


@dataclass(frozen=True)
class TopicEnds:
    """Offsets behind the last records by (topic, partition), and what is wrong with other topics."""

    ends: Offsets
    errors: Mapping[str, FrazilError]


def look_at_ends(bootstrap: str, topics: Collection[str], *, committed: bool = False) -> TopicEnds:
    """The ends of many topics at once, as `end_offsets` has them; one that is wrong leaves the others as they are.

    Raises ServiceUnavailable when no broker answers.
    """
    client = admin(bootstrap)
    errors: dict[str, FrazilError] = {}
    counts: dict[str, int] = {}
    described = client.describe_topics(TopicCollection(list(topics)), request_timeout=TIMEOUT_S) if topics else {}
    for name, description in described.items():
        try:
            counts[name] = len(_result(client, description, bootstrap, f"topic {name}").partitions)
        except FrazilError as error:
            errors[name] = _of_one_topic(error)
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    wanted = {TopicPartition(name, number): latest for name, count in counts.items() for number in range(count)}
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    found = client.list_offsets(wanted, isolation_level=isolation, request_timeout=TIMEOUT_S) if wanted else {}
    ends: Offsets = {}
    for place, future in found.items():
        try:
            answer = _result(client, future, bootstrap, f"offsets of {place.topic}-{place.partition}")
            ends[place.topic, place.partition] = int(answer.offset)
        except FrazilError as error:
            errors[place.topic] = _of_one_topic(error)
    return TopicEnds(ends, errors)


def _of_one_topic(error: FrazilError) -> FrazilError:
    """The error of a topic; raises one of the cluster."""
    if isinstance(error, ServiceUnavailable) and not isinstance(error, _Settling):
        raise error
    return error


@_until_settled
def group_offsets(bootstrap: str, group: str, partitions: Iterable[tuple[str, int]]) -> Offsets:
    """Committed next offsets of a consumer group; a partition without one is left out.

    Raises ServiceUnavailable when the group's coordinator does not answer.
    """
    return {(p.topic, p.partition): p.offset for p in _committed(bootstrap, group, partitions)}


@_until_settled
def group_metadata(bootstrap: str, group: str, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """The texts beside the committed offsets of a consumer group, where there are any.

    Raises ServiceUnavailable when the group's coordinator does not answer.
    """
    return {(p.topic, p.partition): p.metadata for p in _committed(bootstrap, group, partitions) if p.metadata}


def _committed(bootstrap: str, group: str, partitions: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    """Offsets that a consumer group has committed, where it has any."""
    wanted = [TopicPartition(topic, partition) for topic, partition in partitions]
    if not wanted:
        return []
    with _group_member(bootstrap, group) as consumer:
        found = consumer.committed(wanted, timeout=TIMEOUT_S)
        _check_partitions(found)
    return [p for p in found if p.offset >= 0]


@_until_settled
def all_group_offsets(bootstrap: str, group: str) -> Offsets:
    """Committed next offsets of a consumer group, of every partition that it has committed.

    Raises ServiceUnavailable when the group's coordinator does not answer.
    """
    with _group_member(bootstrap, group) as consumer:
        known = consumer.list_topics(timeout=TIMEOUT_S).topics
        partitions = [(name, partition) for name, topic in known.items() for partition in topic.partitions]
    return group_offsets(bootstrap, group, partitions)


@_until_settled
def group_members(bootstrap: str, group: str) -> int:
    """Count the members of a consumer group; those that died count until their session ends.

    Raises ServiceUnavailable when the group's coordinator does not answer.
    """
    with _group_member(bootstrap, group) as consumer:  # waits for the coordinator, see there
        consumer.committed([TopicPartition("none", 0)], timeout=TIMEOUT_S)
    client = admin(bootstrap)
    future = client.describe_consumer_groups([group], request_timeout=TIMEOUT_S)[group]
    try:
        return len(_result(client, future, bootstrap, f"consumer group {group}").members)
    except NotFound:
        return 0


@_until_settled
def set_group_offsets(
    bootstrap: str,
    group: str,
    offsets: Mapping[tuple[str, int], int],
    metadata: Mapping[tuple[str, int], str] | None = None,
) -> None:
    """Commit next offsets for a consumer group that has no members, with a text beside each that has one.

    Raises TerminalError when the group has members (nothing is committed then), ServiceUnavailable when its
    coordinator does not answer.
    """
    if not offsets:
        return
    texts = metadata or {}
    positions = [TopicPartition(*key, offset, texts.get(key, "")) for key, offset in offsets.items()]
    with _group_member(bootstrap, group) as consumer:
        consumer.committed(positions, timeout=TIMEOUT_S)  # finds the coordinator; commit has no timeout of its own
        _check_partitions(consumer.commit(offsets=positions, asynchronous=False))


@_until_settled
def forget_group_offsets(bootstrap: str, group: str, partitions: Collection[tuple[str, int]] | None = None) -> None:
    """Remove committed offsets of a consumer group that has no members: of these partitions, or all of them.

    The client can only delete a whole group, so what the other partitions had is committed again. Raises TerminalError
    when the group has members (nothing is removed then), ServiceUnavailable when its coordinator does not answer.
    """
    known = all_group_offsets(bootstrap, group)
    kept = {} if partitions is None else {key: offset for key, offset in known.items() if key not in partitions}
    if len(kept) == len(known):
        return
    client = admin(bootstrap)
    futures = client.delete_consumer_groups([group], request_timeout=TIMEOUT_S)
    _result(client, futures[group], bootstrap, f"consumer group {group}")
    set_group_offsets(bootstrap, group, kept)


@contextmanager
def _group_member(bootstrap: str, group: str) -> Iterator[Consumer]:
    """A consumer that never subscribes, to read and commit a group's offsets.

    The administration client's calls for this crash the process (librdkafka dereferences null) while the coordinator
    of a new cluster is being elected.
    """
    try:
        consumer = Consumer({**client_config(bootstrap, "consumer"), "group.id": group, "enable.auto.commit": False})
    except KafkaException as error:
        raise _unusable(error) from None
    try:
        yield consumer
    except KafkaException as error:
        raise _translated(error, bootstrap, f"consumer group {group}") from error
    finally:
        consumer.close()


def _check_partitions(partitions: Iterable[TopicPartition]) -> None:
    for p in partitions:
        if p.error is not None:
            raise KafkaException(p.error)


def lag(bootstrap: str, topics: Iterable[str], group: str) -> Offsets:
    """Records per (topic, partition) that a group has not committed; all that are stored, before its first commit.

    Raises NotFound or ServiceUnavailable.
    """
    names = list(topics)
    ends, begins = end_offsets(bootstrap, names), begin_offsets(bootstrap, names)
    committed = group_offsets(bootstrap, group, ends)
    return {key: max(end - committed.get(key, begins[key]), 0) for key, end in ends.items()}


def _list_offsets(
    bootstrap: str,
    topics: list[str],
    spec: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> Offsets:
    client = admin(bootstrap)
    wanted = {
        TopicPartition(name, partition.id): spec
        for name, description in _descriptions(client, bootstrap, topics).items()
        for partition in description.partitions
    }
    if not wanted:
        return {}
    futures = client.list_offsets(wanted, isolation_level=isolation, request_timeout=TIMEOUT_S)
    return {
        (p.topic, p.partition): int(_result(client, future, bootstrap, f"offsets of {p.topic}-{p.partition}").offset)
        for p, future in futures.items()
    }


@retry(retry=retry_if_exception_type(NotFound), stop=stop_after_delay(TIMEOUT_S), wait=wait_fixed(0.05), reraise=True)
def _await_visible(client: AdminClient, bootstrap: str, topics: Collection[str]) -> None:
    """The controller has the topics before the broker has learnt of them."""
    _descriptions(client, bootstrap, topics)


def _descriptions(client: AdminClient, bootstrap: str, topics: Collection[str]) -> dict[str, TopicDescription]:
    if not topics:
        return {}
    futures = client.describe_topics(TopicCollection(list(topics)), request_timeout=TIMEOUT_S)
    return {name: _result(client, future, bootstrap, f"topic {name}") for name, future in futures.items()}


def _result(client: AdminClient, future: Future[T], bootstrap: str, what: str) -> T:
    try:
        return future.result(TIMEOUT_S + 1)
    except KafkaException as error:
        client.poll(0)  # hears why brokers did not let it in
        raise _translated(error, bootstrap, what) from error
    except TimeoutError as error:
        raise _unavailable(bootstrap, f"no answer about {what} in {TIMEOUT_S:.0f} s") from error


def _translated(error: KafkaException, bootstrap: str, what: str) -> FrazilError:
    cause: KafkaError = error.args[0]
    if cause.code() in _SETTLING:
        return _Settling(
            f"Kafka at {bootstrap} has no leader yet ({what}: {cause.str()}). Nothing was changed. "
            "Wait a moment and try again; if it stays so, look at the broker's log (`logs kafka`)."
        )
    if cause.code() in _UNREACHABLE:
        return _unavailable(bootstrap, f"{what}: {cause.str()}")
    if cause.code() == KafkaError.GROUP_ID_NOT_FOUND:
        return NotFound(f"{what} does not exist at {bootstrap}")
    if cause.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):  # noqa: SLF001
        return NotFound(
            f"{what} does not exist at {bootstrap}. Create it; `init` creates the topics of the log records."
        )
    return TerminalError(f"Kafka at {bootstrap} refuses {what}: {cause.name()}: {cause.str()}")


def _unusable(error: KafkaException) -> ConfigError:
    return ConfigError(
        f"the security settings of Kafka's clients cannot be used: {error.args[0].str()}. Nothing was changed; correct "
        "the keys security.*, sasl.* and ssl.*"
    )


def _unavailable(bootstrap: str, detail: str) -> ServiceUnavailable:
    _forget_client(bootstrap)
    reason = refusal(bootstrap)
    if reason:
        return ServiceUnavailable(
            f"Kafka at {bootstrap} does not let this client in: {reason}. Nothing was changed. Correct the keys "
            "security.*, sasl.* and ssl.* (KAFKA_SECURITY_PROTOCOL and its neighbours), then try again."
        )
    protocols = bootstrap.own_protocols if isinstance(bootstrap, Bootstrap) else {}
    hint = ""
    if protocols:
        shown = ", ".join(f"{key}={value}" for key, value in protocols.items())
        hint = f" Perhaps its brokers do not speak the protocol of {shown} at this address: correct or remove that."
    return ServiceUnavailable(
        f"Kafka at {bootstrap} does not answer ({detail}). Nothing was changed. "
        f"Start it (`start kafka`) or correct KAFKA_BOOTSTRAP_SERVERS, then try again.{hint}"
    )
