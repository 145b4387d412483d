"""What the log has of secrets when every logger prints all it can."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from frazil.stack.local import LocalStack
from tests.harness import EVENTS, EVENTS_SPEC, Pipe, event, own_worker
from tests.isolation import isolated_settings
from tests.secure_kafka import USER_PASSWORD, secure_kafka
from tests.tls import PASSWORD
from tests.waits import PATIENCE_S, eventually

STORE_SECRET, MISTAKEN, PROVIDED = "s3cr3t-of-the-store", "m1staken-s3cr3t", "pr0vided-s3cr3t"
LOGGERS = ("root", "py4j", "botocore", "org.apache", "org.apache.iceberg", "software.amazon.awssdk", "org.apache.hc")
ENVIRONMENT = {
    "CONNECT_CONFIG_PROVIDERS": "env",
    "CONNECT_CONFIG_PROVIDERS_ENV_CLASS": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "PROVIDED": PROVIDED,
}


@pytest.mark.spark
@pytest.mark.faults
@pytest.mark.timeout(600)
def test_no_secret_is_in_the_log_at_the_lowest_level(tmp_path: Path) -> None:
    """Appends, upserts, maintenance in the JVM, logins at Kafka, and connectors whose keys are refused."""
    (tmp_path / "kafka").mkdir()
    keys = {"MINIO_ACCESS_KEY": "the-user", "MINIO_SECRET_KEY": STORE_SECRET}
    stack = LocalStack(isolated_settings(tmp_path / "stack", **keys))
    stack.start(lambda text: None)
    try:
        with (
            secure_kafka(tmp_path / "kafka") as secure,
            own_worker(stack.settings, tmp_path / "worker", **secure.scram(), **ENVIRONMENT) as worker,
        ):
            for logger in LOGGERS:
                url = f"{worker.settings.connect_url}/admin/loggers/{logger}"
                httpx.put(url, json={"level": "TRACE"}, timeout=PATIENCE_S).raise_for_status()
            maintained = {"frazil.maintenance.interval.ms": "60000", "errors.tolerance": "all"}
            escaped = USER_PASSWORD.replace('"', '\\"')
            jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
            login = {
                "consumer.override.sasl.mechanism": "PLAIN",
                "consumer.override.sasl.jaas.config": f'{jaas} username="frazil" password="{escaped}";',
            }
            upsert = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}
            cases = {"appended": maintained, "logged_in": login, "upserted": upsert | maintained}
            pipes = {name: Pipe(worker.settings, f"secret_{name}", EVENTS, EVENTS_SPEC).create() for name in cases}
            for name, pipe in pipes.items():
                worker.client.put_config(pipe.connector, pipe.config() | cases[name])
                pipe.send([event(n) for n in range(50)])
            refused = Pipe(worker.settings, "secret_refused").create()
            refused.send([event(1)])
            for secret in (MISTAKEN, "${env:PROVIDED}"):
                wrong = {"iceberg.catalog.s3.secret-access-key": secret}
                worker.client.put_config(refused.connector, refused.config() | wrong)
                eventually(lambda: worker.state(refused.connector) == "FAILED")
            for pipe in pipes.values():
                eventually(lambda pipe=pipe: len(pipe.ids()) == 50)  # type: ignore[misc]
            eventually(lambda: " s and freed " in worker.log())
            log = worker.log()
            assert " DEBUG " in log
            assert "org.apache.spark" in log or " TRACE " in log
            lines = log.splitlines()
            for secret in (STORE_SECRET, MISTAKEN, PROVIDED, USER_PASSWORD, escaped, PASSWORD, "Command to send"):
                assert [line[:400] for line in lines if secret in line] == []
    finally:
        stack.stop()
