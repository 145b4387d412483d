from __future__ import annotations

import pytest

from frazil.config.providers import ConfigProviders, EnvironmentProvider
from frazil.errors import ServiceUnavailable
from frazil.worker.positions import ConnectorPositions, group_of
from tests.config.samples import MINIMAL_SINK
from tests.environment import isolated_settings

PROVIDERS = ConfigProviders({"env": EnvironmentProvider({"GROUP": "mine", "PORT": "9", "HOST": "127.0.0.1"})})


def test_the_group_of_a_stored_configuration() -> None:
    assert group_of("c", {"a": "${env:NONE}"}, PROVIDERS) == "connect-c"
    assert group_of("c", {"consumer.override.group.id": "g-${env:GROUP}"}, PROVIDERS) == "g-mine"


def test_errors_hide_what_providers_gave(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = isolated_settings(tmp_path_factory.mktemp("home"))
    config = {**MINIMAL_SINK, "iceberg.catalog.uri": "http://${env:HOST}:${env:PORT}"}
    with pytest.raises(ServiceUnavailable) as raised:
        ConnectorPositions(settings, PROVIDERS).alter("c", config, None)
    assert "http://[hidden]:9" in str(raised.value)
    assert "127.0.0.1" not in str(raised.value)
