from __future__ import annotations

from pathlib import Path

import pytest

from frazil.environment.listeners import Listener
from frazil.environment.settings import Settings
from frazil.environment.worker import WorkerConfig
from frazil.errors import ConfigError

GROUP = """
bootstrap.servers = kafka-1:9092,kafka-2:9092
group.id=connect-cluster
config.storage.topic=configs
offset.storage.topic=offsets
status.storage.topic=statuses
"""


def load(tmp_path: Path, text: str = "", **env: str) -> WorkerConfig:
    file = tmp_path / "worker.properties"
    file.write_text(text)
    return WorkerConfig.load(Settings(env), file)


def test_alone_on_loopback_without_anything() -> None:
    worker = WorkerConfig.load(Settings({"KAFKA_CONNECT_PORT": "9083"}))
    assert worker.group is None
    assert worker.listeners == (worker.advertised,) == (Listener("http", "127.0.0.1", 9083),)
    assert worker.warning is None


def test_a_member_of_a_group(tmp_path: Path) -> None:
    worker = load(tmp_path, GROUP + "listeners=HTTP://:8084\nrest.advertised.host.name=worker-1\n")
    assert worker.group == "connect-cluster"
    assert worker.listeners == (Listener("http", "", 8084),)
    assert worker.advertised == Listener("http", "worker-1", 8084)
    assert worker.parsed.number("config.storage.replication.factor") == 3
    settings = worker.settings(Settings({"KAFKA_BOOTSTRAP_SERVERS": "other:9092", "X": "kept"}))
    assert settings.bootstrap_servers == "kafka-1:9092,kafka-2:9092"
    assert (settings.connect_port, settings.env["X"]) == (8084, "kept")


def test_variables_win_over_the_file(tmp_path: Path) -> None:
    worker = load(
        tmp_path,
        GROUP,
        CONNECT_GROUP_ID="other",
        CONNECT_REST_ADVERTISED_PORT="80",
        CONNECT_CONFIG_PROVIDERS="my_files",
        CONNECT_CONFIG_PROVIDERS_MY__FILES_CLASS="x",
        CONNECT_PRODUCER_A___B="1",
    )
    assert worker.group == "other"
    assert worker.advertised == Listener("http", "127.0.0.1", 80)
    assert worker.properties["config.providers.my_files.class"] == "x"
    assert worker.properties["producer.a-b"] == "1"


def test_a_group_needs_its_topics(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='Missing required configuration "offset.storage.topic" which has no default'):
        load(tmp_path, "group.id=g\nconfig.storage.topic=c\nstatus.storage.topic=s\n")
    with pytest.raises(ConfigError, match='Missing required configuration "group.id"'):
        load(tmp_path, "config.storage.topic=c\noffset.storage.topic=o\nstatus.storage.topic=s\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "session.timeout.ms=soon",
            "Invalid value soon for configuration session.timeout.ms: Not a number of type INT",
        ),
        ("status.storage.partitions=0", "Value must be -1 or at least 1"),
        ("topic.tracking.enable=perhaps", "Expected value to be either true or false"),
        ("listeners=8083", "listeners has '8083'; expected http://host:port"),
    ],
)
def test_wrong_values_are_told(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, text)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory. Nothing was started"):
        WorkerConfig.load(Settings({}), tmp_path / "none.properties")


def test_one_warning_names_all_keys_without_effect(tmp_path: Path) -> None:
    worker = load(tmp_path, "plugin.discovery=/x\noffset.flush.interval.ms=1\nmy.key=1\nother=2\ngroup.id=\n")
    assert worker.warning is not None
    assert "plugin.discovery (connectors, converters and transformations are parts of frazil)" in worker.warning
    assert "offset.flush.interval.ms (" in worker.warning
    assert worker.warning.endswith("my.key, other (not known)")
    assert "group.id" not in worker.warning


def test_converters_of_the_worker_are_for_connectors_that_name_none(tmp_path: Path) -> None:
    worker = load(tmp_path, "value.converter=J\nvalue.converter.schemas.enable=false\nkey.converter=S\n")
    assert worker.with_converters({"a": "1", "key.converter": "own"}) == {
        "a": "1",
        "key.converter": "own",
        "value.converter": "J",
        "value.converter.schemas.enable": "false",
    }
