"""The peer: a real Kafka Connect distributed worker, by default with Apache's Iceberg sink."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.connect import connect_service
from frazil.stack.jars import ICEBERG_CONNECT, JarSet, resolve
from frazil.stack.ports import Port
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


def peer_service(
    settings: Settings,
    plugin: JarSet = ICEBERG_CONNECT,
    group: str | None = None,
    keys: Mapping[str, str] = MappingProxyType({}),
    converters: Sequence[JarSet] = (),
) -> Service:
    """A worker on `Settings.connect_port`, with these keys beside those of `worker_properties`.

    Without a `group` it shares nothing with any worker before it.
    """

    def properties(java: Path, conf: Path, progress: Progress) -> dict[str, str]:
        plugins = conf / "plugins"
        plugins.mkdir(parents=True, exist_ok=True)
        for jars in (plugin, *converters):
            resolve(jars, java, settings.cache, progress, settings.env)
            link = plugins / jars.name
            link.unlink(missing_ok=True)
            link.symlink_to(jars.folder(settings.cache), target_is_directory=True)
        return {**worker_properties(settings, group or f"bench-{uuid.uuid4().hex[:8]}", plugins), **keys}

    port = Port(settings.connect_port, "KAFKA_CONNECT_PORT")
    return connect_service(settings, "kafka-connect", port, lambda java, conf, progress: _JVM, properties)


def worker_properties(settings: Settings, group: str, plugins: Path) -> dict[str, str]:
    """Configuration of the worker; all that is not here is Connect's default. JSON without schemas."""
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
