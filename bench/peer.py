"""The peer: a real Kafka Connect distributed worker, by default with Apache's Iceberg sink (spark-and-stack.md 6.2)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import httpx

from frazil.config.settings import LOOPBACK, Settings
from frazil.stack.jars import CONNECT, ICEBERG_CONNECT, JarSet, resolve
from frazil.stack.java import find_java
from frazil.stack.ports import Port
from frazil.stack.process import minimal_env
from frazil.stack.service import Progress, Service

CONNECTOR_CLASS = "org.apache.iceberg.connect.IcebergSinkConnector"

# The heap of `connect-distributed.sh` and the options of `kafka-run-class.sh`, both of Kafka 4.3.1.
_JVM = (
    "-Xms256M",
    "-Xmx2G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
# Without the values of every client and connector configuration, which hold the store's credentials.
_LOGGING = """<Configuration status="WARN">
  <Appenders>
    <Console name="out" target="SYSTEM_OUT"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="out"/></Root>
    <Logger name="org.apache.kafka.common.config" level="WARN"/>
    <Logger name="org.apache.kafka.connect.runtime.ConnectorConfig" level="WARN"/>
    <Logger name="org.apache.iceberg.connect.IcebergSinkConfig" level="WARN"/>
  </Loggers>
</Configuration>
"""
_START_S = 120


def peer_service(settings: Settings, plugin: JarSet = ICEBERG_CONNECT, group: str | None = None) -> Service:
    """A worker on `Settings.connect_port`; without a `group` it shares nothing with any worker before it."""
    return Service(
        name="kafka-connect",
        home=settings.home,
        command=lambda progress: _command(settings, plugin, group or f"bench-{uuid.uuid4().hex[:8]}", progress),
        ready=lambda: _missing(settings),
        ports=(Port(settings.connect_port, "KAFKA_CONNECT_PORT"),),
        env=minimal_env(settings.env),
        cwd=settings.home,
        start_timeout=_START_S,
    )


def worker_properties(settings: Settings, group: str, plugins: Path) -> dict[str, str]:
    """Configuration of the worker; all that is not here is Connect's default. JSON without schemas, as in seed 000."""
    return {
        "bootstrap.servers": settings.bootstrap_servers,
        "group.id": group,
        "config.storage.topic": f"{group}-configs",
        "offset.storage.topic": f"{group}-offsets",
        "status.storage.topic": f"{group}-status",
        "config.storage.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "listeners": f"http://{LOOPBACK}:{settings.connect_port}",
        "plugin.path": str(plugins),
    }


def _command(settings: Settings, plugin: JarSet, group: str, progress: Progress) -> Sequence[str]:
    java = find_java(settings.env)
    resolve(CONNECT, java, settings.cache, progress, settings.env)
    resolve(plugin, java, settings.cache, progress, settings.env)
    conf = settings.home / "conf" / "kafka-connect"
    plugins = conf / "plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    link = plugins / plugin.name
    link.unlink(missing_ok=True)
    link.symlink_to(plugin.folder(settings.cache), target_is_directory=True)
    properties = conf / "worker.properties"
    lines = worker_properties(settings, group, plugins).items()
    properties.write_text("".join(f"{key}={value}\n" for key, value in lines))
    logging = conf / "log4j2.xml"
    logging.write_text(_LOGGING)
    return [
        str(java),
        *_JVM,
        f"-Dlog4j2.configurationFile={logging}",
        *("-cp", f"{CONNECT.folder(settings.cache)}/*"),
        "org.apache.kafka.connect.cli.ConnectDistributed",
        str(properties),
    ]


def _missing(settings: Settings) -> str | None:
    """The list of connectors, which a worker gives once it has joined its group."""
    url = f"http://{LOOPBACK}:{settings.connect_port}/connectors"
    try:
        answer = httpx.get(url, timeout=10, trust_env=False)
    except httpx.HTTPError as error:
        return f"{url} does not answer ({error})"
    return None if answer.status_code == httpx.codes.OK else f"{url} answers {answer.status_code}"
