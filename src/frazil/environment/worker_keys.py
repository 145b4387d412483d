"""Keys of a worker: those of Kafka Connect's `worker.properties`, and what each of them does here.

Source: the configuration references of Kafka Connect 4.3 and of its Iceberg sink's images.
"""

from frazil.declare.converters import DEFAULTS, Role
from frazil.declare.definition import Key, Value
from frazil.declare.validators import at_least, one_of

GROUP, TOPICS, REST, KAFKA = "Group", "Storage topics", "REST API", "Access to Kafka"
CONNECTORS, OTHER = "Connectors", "Without effect"

_TABLE = "the position of a sink is in its table"
_SOURCES = "it is about source connectors"
_OWN_CLIENTS = "the worker's clients have settings of their own; consumer.override.* of a connector counts"
_PLUGINS = "connectors, converters and transformations are parts of frazil"
_METRICS = "metrics are at /actuator/prometheus"


def _partitions(value: Value) -> str | None:
    return None if value == -1 or (isinstance(value, int) and value > 0) else "Value must be -1 or at least 1"


def _storage(kind: str, what: str, partitions: int | None) -> tuple[Key, ...]:
    prefix = f"{kind}.storage."
    name = Key(
        prefix + "topic",
        "STRING",
        f"Topic of {what}. It is created when it is missing; it has to have cleanup.policy=compact.",
        default="",
        importance="HIGH",
        group=TOPICS,
    )
    factor = Key(
        prefix + "replication.factor",
        "SHORT",
        f"Copies of the {kind} topic when it is created; -1 is the default of the broker.",
        default=3,
        importance="LOW",
        validator=_partitions,
        group=TOPICS,
    )
    if partitions is None:
        return name, factor
    count = Key(
        prefix + "partitions",
        "INT",
        f"Partitions of the {kind} topic when it is created; -1 is the default of the broker.",
        default=partitions,
        importance="LOW",
        validator=_partitions,
        group=TOPICS,
    )
    return name, count, factor


def _converter(role: Role) -> tuple[Key, Key]:
    name = f"{role}.converter"
    return (
        Key(
            name,
            "CLASS",
            f"Converter of record {role}s for connectors that name none.",
            default=DEFAULTS[role],
            importance="HIGH",
            group=CONNECTORS,
        ),
        Key(name + ".*", "STRING", f"Option of that {role} converter.", default=None, group=CONNECTORS),
    )


def _security(prefix: str, of: str) -> tuple[Key, ...]:
    return tuple(
        Key(
            f"{prefix}{kind}.*",
            "STRING",
            f"How {of} are let in; see [Secure](../secure.md).",
            default=None,
            group=KAFKA,
        )
        for kind in ("security", "sasl", "ssl")
    )


def _unused(name: str, why: str) -> Key:
    return Key(name, "STRING", "", default=None, importance="LOW", no_effect=why, group=OTHER)


WORKER_KEYS: tuple[Key, ...] = (
    Key(
        "bootstrap.servers",
        "STRING",
        "Addresses of the Kafka cluster, host:port, separated by commas; wins over KAFKA_BOOTSTRAP_SERVERS.",
        default="",
        importance="HIGH",
        group=GROUP,
    ),
    Key(
        "group.id",
        "STRING",
        "Name of the group of workers. With it the worker is one of a group, and the three storage topics are needed; "
        "without it the worker is alone and keeps its connectors in a file of its home.",
        default="",
        importance="HIGH",
        group=GROUP,
    ),
    Key(
        "session.timeout.ms",
        "INT",
        "Silence after which a worker counts as lost and its connectors start elsewhere, in milliseconds.",
        default=10_000,
        importance="HIGH",
        validator=at_least(1_000),
        group=GROUP,
    ),
    Key(
        "heartbeat.interval.ms",
        "INT",
        "Time between two signs of life to the group's coordinator, in milliseconds.",
        default=3_000,
        importance="HIGH",
        validator=at_least(100),
        group=GROUP,
    ),
    Key(
        "rebalance.timeout.ms",
        "INT",
        "So long a worker may take to give up connectors before it counts as lost, in milliseconds.",
        default=60_000,
        importance="HIGH",
        validator=at_least(15_000),
        group=GROUP,
    ),
    *_storage("config", "connector configurations and their wanted states", None),
    *_storage("offset", "the group itself: its partitions divide the connectors among the workers", 25),
    *_storage("status", "the states of connectors", 5),
    Key(
        "listeners",
        "LIST",
        "Addresses of the REST API, http://host:port or https://host:port; an empty host is every address of the "
        "machine. Without it the API listens on 127.0.0.1 and KAFKA_CONNECT_PORT.",
        default=(),
        importance="LOW",
        group=REST,
    ),
    Key(
        "rest.advertised.host.name",
        "STRING",
        "Host under which the other workers of the group reach this one; the host of listeners when it is not set.",
        default="",
        importance="LOW",
        group=REST,
    ),
    Key(
        "rest.advertised.port",
        "INT",
        "Port for the same; the port of listeners when it is not set.",
        default=0,
        importance="LOW",
        group=REST,
    ),
    Key(
        "rest.advertised.listener",
        "STRING",
        "Whether the other workers use the http or the https address of listeners; the first one when it is not set.",
        default="",
        importance="LOW",
        validator=one_of("", "http", "https"),
        group=REST,
    ),
    Key("listeners.https.*", "STRING", "TLS of the listeners with https.", default=None, group=REST),
    Key("admin.listeners", "STRING", "Addresses that serve the log levels alone.", default=None, group=REST),
    Key("admin.listeners.https.*", "STRING", "TLS of these.", default=None, group=REST),
    Key("access.control.allow.origin", "STRING", "Origins that pages may call from.", default="", group=REST),
    Key("access.control.allow.methods", "STRING", "Methods that they may call.", default="", group=REST),
    Key("response.http.headers.config", "STRING", "Headers of every answer.", default="", group=REST),
    Key(
        "rest.mask.secrets",
        "BOOLEAN",
        "Whether answers of the REST API hide secrets of connectors; a mask that is sent back keeps the stored value.",
        default=False,
        importance="LOW",
        group=REST,
    ),
    Key("frazil.rest.users.file", "STRING", "File with the users of the REST API.", default="", group=REST),
    Key(
        "frazil.rest.allowed.hosts",
        "LIST",
        "Names that requests may be for, besides addresses, localhost and the advertised name; * is any. Without it a "
        "listener on loopback refuses all others, and one that the network reaches takes any.",
        default=(),
        importance="LOW",
        group=REST,
    ),
    Key(
        "rest.extension.classes",
        "STRING",
        "Kafka Connect's extension for basic authentication; others are refused.",
        default="",
        group=REST,
    ),
    *_security("", "the workers' clients"),
    *_security("consumer.", "consumers"),
    *_security("producer.", "producers"),
    *_security("admin.", "administration clients"),
    *_converter("key"),
    *_converter("value"),
    *_converter("header"),
    Key(
        "config.providers",
        "LIST",
        "Names of the configuration providers for placeholders in connectors.",
        default=(),
        importance="LOW",
        group=CONNECTORS,
    ),
    Key("config.providers.*", "STRING", "Class and parameters of a provider.", default=None, group=CONNECTORS),
    Key(
        "topic.tracking.enable",
        "BOOLEAN",
        "Whether the worker tells the topics that a connector has read.",
        default=True,
        importance="LOW",
        group=CONNECTORS,
    ),
    Key(
        "topic.tracking.allow.reset",
        "BOOLEAN",
        "Whether that list may be cleared over the REST API.",
        default=True,
        importance="LOW",
        group=CONNECTORS,
    ),
    Key(
        "plugin.path",
        "STRING",
        "Folders with the plugins of source connectors; sinks, converters and transformations are parts of frazil.",
        default="",
        importance="LOW",
        group=CONNECTORS,
    ),
    _unused("plugin.discovery", _PLUGINS),
    _unused("offset.flush.interval.ms", f"{_TABLE}; iceberg.control.commit.interval-ms of a connector counts"),
    _unused("offset.flush.timeout.ms", _TABLE),
    _unused("offset.storage.file.filename", _TABLE),
    _unused("task.shutdown.graceful.timeout.ms", "a running batch has 10 s to finish"),
    _unused("scheduled.rebalance.max.delay.ms", "the connectors of a lost worker start elsewhere at once"),
    _unused("connect.protocol", "workers of frazil have one protocol"),
    _unused("worker.sync.timeout.ms", "a worker has always read the newest configurations that Kafka gave it"),
    _unused("worker.unsync.backoff.ms", "a worker has always read the newest configurations that Kafka gave it"),
    _unused("connector.client.config.override.policy", "connectors may override the settings of their clients"),
    _unused("exactly.once.source.support", _SOURCES),
    _unused("topic.creation.enable", _SOURCES),
    _unused("internal.key.converter", "the storage topics have JSON"),
    _unused("internal.value.converter", "the storage topics have JSON"),
    _unused("internal.key.converter.*", "the storage topics have JSON"),
    _unused("internal.value.converter.*", "the storage topics have JSON"),
    _unused("inter.worker.*", "workers sign requests to each other with HmacSHA256 and a new key each hour"),
    _unused("metric.reporters", _METRICS),
    _unused("metrics.*", _METRICS),
    _unused("auto.include.jmx.reporter", _METRICS),
    _unused("client.id", "the workers' clients are named after their addresses"),
    _unused("consumer.*", _OWN_CLIENTS),
    _unused("producer.*", _OWN_CLIENTS),
    _unused("admin.*", _OWN_CLIENTS),
)
