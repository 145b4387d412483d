from __future__ import annotations

from pathlib import Path

import pytest

from frazil.errors import ServiceUnavailable
from frazil.stack.connect import sources_service
from frazil.worker.sources.runtime import SourceRuntime, runtime_properties
from tests.isolation import isolated_settings

SECURE = {
    "KAFKA_BOOTSTRAP_SERVERS": "k:9093",
    "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
    "KAFKA_SASL_USERNAME": "ops",
    "KAFKA_SASL_PASSWORD": "top-secret",
}


def test_keys_of_the_runtime_are_those_of_the_worker(tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path, **SECURE)
    own = {"value.converter": "x.Avro", "plugin.path": "/plugins", "group.id": "g", "listeners": "http://0.0.0.0:1"}
    made = runtime_properties(settings, own, "g-sources")
    assert (made["group.id"], made["config.storage.topic"]) == ("g-sources", "g-sources-configs")
    assert (made["value.converter"], made["plugin.path"]) == ("x.Avro", f"/plugins,{tmp_path}/plugins")
    assert made["listeners"] == f"http://127.0.0.1:{settings.source_connect_port}"
    assert made["offset.flush.interval.ms"] == "5000"
    for prefix in ("", "consumer.", "producer.", "admin."):
        assert made[f"{prefix}security.protocol"] == "SASL_SSL"
        assert "top-secret" in made[f"{prefix}sasl.jaas.config"]


def test_passwords_are_in_a_file_of_the_owner_and_not_in_arguments(tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path, **SECURE)
    command = sources_service(settings, runtime_properties(settings, {}, "g")).command(lambda text: None)
    assert "top-secret" not in " ".join(command)
    file = Path(command[-1])
    assert file.stat().st_mode & 0o777 == 0o600
    assert "top-secret" in file.read_text()


def test_a_cluster_that_does_not_answer(tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path, SOURCE_CONNECT_URL="http://127.0.0.1:9")
    runtime = SourceRuntime(settings, {})
    runtime.ensure()
    assert runtime.connectors() == {}
    for ask in (runtime.require, runtime.plugins):
        with pytest.raises(ServiceUnavailable, match=r"runtime at http://127\.0\.0\.1:9 does not answer"):
            ask()
    runtime.close()
