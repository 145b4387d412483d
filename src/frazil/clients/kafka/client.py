"""The clients that administer a Kafka cluster, shared by all who see it alike. Every call is bounded in time."""

import socket
import threading
from collections import OrderedDict
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from frazil.clients.kafka.security import refusal, watched
from frazil.environment.bootstrap import Bootstrap, Client
from frazil.environment.urls import is_this_machine
from frazil.errors import ConfigError, FrazilError, NotFound, ServiceUnavailable, StackUnavailable, TerminalError

TIMEOUT_S = 10.0
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
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.NOT_CONTROLLER,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}


class Settling(ServiceUnavailable):
    """The cluster is electing a leader or a coordinator."""


until_settled = retry(
    retry=retry_if_exception_type(Settling), stop=stop_after_delay(TIMEOUT_S), wait=wait_fixed(0.1), reraise=True
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
        raise unusable(error) from None
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
    return str(result(client, client.describe_cluster(request_timeout=timeout), bootstrap, "cluster").cluster_id)


def result(client: AdminClient, future: Future[T], bootstrap: str, what: str) -> T:
    """Answer of the cluster about `what`. Raises the error of `translated`; ServiceUnavailable without an answer."""
    try:
        return future.result(TIMEOUT_S + 1)
    except KafkaException as error:
        client.poll(0)  # hears why brokers did not let it in
        raise translated(error, bootstrap, what) from error
    except TimeoutError as error:
        raise _unavailable(bootstrap, f"no answer about {what} in {TIMEOUT_S:.0f} s") from error


def translated(error: KafkaException, bootstrap: str, what: str) -> FrazilError:
    """Error to raise for one of Kafka's about `what`."""
    cause: KafkaError = error.args[0]
    if cause.code() in _SETTLING:
        return Settling(
            f"Kafka at {bootstrap} has no leader yet ({what}: {cause.str()}). Nothing was changed. "
            "Wait a moment and try again; if it stays so, look at the broker's log (`logs kafka`)."
        )
    if cause.code() in _UNREACHABLE:
        return _unavailable(bootstrap, f"{what}: {cause.str()}")
    if cause.code() == KafkaError.GROUP_ID_NOT_FOUND:
        return NotFound(f"{what} does not exist at {bootstrap}")
    if cause.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):  # noqa: SLF001
        return NotFound(
            f"{what} does not exist at {bootstrap}. Create it: `topics create`; `init` creates the topics of the log "
            "records."
        )
    return TerminalError(f"Kafka at {bootstrap} refuses {what}: {cause.name()}: {cause.str()}")


def unusable(error: KafkaException) -> ConfigError:
    """Error to raise for settings that a client does not take."""
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
    told = f"Kafka at {bootstrap} does not answer ({detail}). Nothing was changed."
    if isinstance(bootstrap, Bootstrap) and bootstrap.embedded:
        return StackUnavailable(f"{told} Start it: `start kafka`, then try again.{hint}")
    return ServiceUnavailable(
        f"{told} Look whether its brokers run and can be reached from here, or correct KAFKA_BOOTSTRAP_SERVERS, then "
        f"try again.{hint}"
    )
