from __future__ import annotations

import logging

import pytest

from frazil.declare.providers import ConfigProviders
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from frazil.minio.deployment.connectors import connectors
from frazil.worker.lifecycle.checks import ConfigChecks
from tests.connectors.samples import MINIMAL_S3_SINK, SEED_SINK


@pytest.fixture
def checks() -> ConfigChecks:
    return ConfigChecks(
        Settings({}), ConfigProviders.load({}, {}), dict, lambda name, config: [], lambda name, config: {}
    )


def test_what_the_store_refuses_is_refused() -> None:
    checks = ConfigChecks(
        Settings({}), ConfigProviders.load({}, {}), dict, lambda name, config: [f"{name} has no keys"], lambda *_: {}
    )
    with pytest.raises(ConfigError, match="contains the following 1 error.*\nmine has no keys"):
        checks.whole("mine", {**SEED_SINK, "name": "mine"})


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
    checks.whole("mine", {**SEED_SINK, "name": "mine"})
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert any(
        "connector mine: iceberg.control.commit.timeout-ms has no effect" in record.getMessage()
        for record in caplog.records
    )


def test_the_level_of_warnings_is_a_key_of_any_connector(
    checks: ConfigChecks, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    checks.whole("mine", {**MINIMAL_S3_SINK, "name": "mine", "no.such.key": "1", "frazil.warnings.level": " info"})
    [record] = caplog.records
    assert record.levelname == "INFO"
    assert "no.such.key is not a key of this connector" in record.getMessage()
    with pytest.raises(ConfigError, match="String must be one of: warn, info"):
        checks.whole("mine", {**MINIMAL_S3_SINK, "name": "mine", "frazil.warnings.level": "error"})
