from __future__ import annotations

import logging

import pytest

from frazil.declare.providers import ConfigProviders
from frazil.environment.settings import Settings
from frazil.minio.deployment.connectors import connectors
from frazil.worker.lifecycle.checks import ConfigChecks


@pytest.fixture
def checks() -> ConfigChecks:
    return ConfigChecks(ConfigProviders.load({}, {}), dict)


def test_what_init_deploys_warns_of_nothing(checks: ConfigChecks, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    [name, *_], [config, *_] = zip(*connectors(Settings({})).items(), strict=True)
    checks.whole(name, config)
    [record] = caplog.records
    assert record.levelname == "INFO"
    assert "iceberg.control.commit.timeout-ms has no effect here" in record.getMessage()


def test_keys_of_others_that_change_nothing_are_warnings(
    checks: ConfigChecks, caplog: pytest.LogCaptureFixture
) -> None:
    config = connectors(Settings({}))["iceberg-sink-apilogs"]
    checks.whole("mine", config)
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert any(
        "connector mine: iceberg.control.commit.timeout-ms has no effect" in record.getMessage()
        for record in caplog.records
    )
