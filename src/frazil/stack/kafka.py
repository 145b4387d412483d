"""The embedded Kafka broker: one KRaft node on loopback."""

import base64
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import ServiceUnavailable, StackError
from frazil.stack.class_archive import ClassArchive
from frazil.stack.jars import KAFKA, resolve
from frazil.stack.java import find_java
from frazil.stack.patience import complaint
from frazil.stack.ports import Port
from frazil.stack.process import minimal_env
from frazil.stack.service import ANSWER_S, Progress, Service, embedded
from frazil.stack.truststore import trust_options

MAX_MESSAGE_BYTES = 16 << 20
_HEAP = "-Xmx512m"

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "message.max.bytes": str(MAX_MESSAGE_BYTES),
    "replica.fetch.max.bytes": str(MAX_MESSAGE_BYTES),
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    # By default every half a second, which is half of what an idle broker costs.
    "metadata.max.idle.interval.ms": "5000",
}
# The values of every client and server configuration are left out: several hundred lines on each start.
_LOGGING = """<Configuration status="WARN">
  <Appenders>
    <Console name="out" target="SYSTEM_OUT"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="out"/></Root>
    <Logger name="org.apache.kafka.common.config" level="WARN"/>
  </Loggers>
</Configuration>
"""


def kafka_service(settings: Settings) -> Service:
    """The broker on `Settings.kafka_port`, its data in `<home>/data/kafka`, started with at most 512 MiB of heap."""
    return embedded(settings)(
        name="kafka",
        command=lambda progress: _command(settings, progress),
        ready=lambda: _missing(f"{LOOPBACK}:{settings.kafka_port}"),
        ports=(
            Port(settings.kafka_port, "KAFKA_EXTERNAL_PORT"),
            Port(settings.kafka_controller_port, "KAFKA_CONTROLLER_PORT"),
        ),
    )


def _command(settings: Settings, progress: Progress) -> Sequence[str]:
    java = find_java(settings.env)
    jars = resolve(KAFKA, java, settings.cache, progress, settings.env)
    archive = ClassArchive("kafka", java, jars, [_HEAP], settings.cache, settings.env)
    conf = settings.home / "conf" / "kafka"
    conf.mkdir(parents=True, exist_ok=True)
    logging = conf / "log4j2.xml"
    logging.write_text(_LOGGING)
    jvm = [
        _HEAP,
        *trust_options(settings.env),
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={settings.logs}/kafka-jvm-%p.log",
        f"-Dlog4j2.configurationFile={logging}",
        *("-cp", f"{KAFKA.folder(settings.cache)}/*"),
    ]
    data = settings.home / "data" / "kafka"
    if not data.exists():
        progress("formatting the storage of kafka")
        _format(settings, [str(java), *archive.reading(), *jvm], conf, data)
    return [
        str(java),
        *archive.options(),
        *jvm,
        "kafka.Kafka",
        str(_write_properties(settings, conf / "server.properties", data)),
    ]


def _format(settings: Settings, jvm: list[str], conf: Path, data: Path) -> None:
    """Give the node a cluster id of its own. The folder gets its name last, so a half-formatted one is never used."""
    draft = data.with_name("kafka.new")
    if draft.exists():
        shutil.rmtree(draft)
    draft.mkdir(parents=True)
    properties = _write_properties(settings, conf / "format.properties", draft)
    identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    tool = [
        "kafka.tools.StorageTool",
        "format",
        "--standalone",
        f"--cluster-id={identity}",
        "--config",
        str(properties),
    ]
    said = complaint(
        [*jvm, *tool], minimal_env(settings.env), "formatting the storage of kafka", settings.start_timeout
    )
    if said is not None:
        cause = next((line for line in said.splitlines() if line.strip() and not line.startswith("Picked up ")), said)
        raise StackError(
            f"the storage of kafka cannot be formatted: {cause}. Nothing was started and {data} does not exist. "
            "Remove the cause and try again."
        )
    draft.rename(data)


def _write_properties(settings: Settings, path: Path, data: Path) -> Path:
    import javaproperties

    broker = f"PLAINTEXT://{LOOPBACK}:{settings.kafka_port}"
    controller = f"{LOOPBACK}:{settings.kafka_controller_port}"
    properties = {
        **_PROPERTIES,
        "controller.quorum.bootstrap.servers": controller,
        "listeners": f"{broker},CONTROLLER://{controller}",
        "advertised.listeners": broker,
        "log.dirs": str(data),
    }
    path.write_text(javaproperties.dumps(properties, timestamp=None))
    return path


def _missing(bootstrap: str) -> str | None:
    from frazil.clients.kafka.client import cluster_id

    try:
        cluster_id(bootstrap, timeout=ANSWER_S)
    except ServiceUnavailable as error:
        return str(error)
    return None
