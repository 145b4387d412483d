"""Configurations that verbs ask the worker for."""

from __future__ import annotations

import pytest

from frazil.cli.ui.letter_connectors import Connectors
from frazil.environment.settings import Settings
from frazil.errors import NotFound, ServiceUnavailable
from tests.web import Handler, served

OWN = b'{"name":"own","topics":"t"}'


class Worker(Handler):
    """A worker whose connector `other` is not known yet, since its runtime starts."""

    def do_GET(self) -> None:
        if self.path == "/connectors?expand=info&expand=status":
            self.answer(200, b'{"own":{"info":{"config":%b}},"other":{"info":{"config":{}}}}' % OWN)
        elif self.path == "/connectors/own/config":
            self.answer(200, OWN)
        elif self.path == "/connectors/other/config":
            self.answer(500, b'{"message":"the runtime is starting"}')
        elif self.path == "/connectors":
            self.answer(200, b'["own","other"]')
        else:
            self.answer(404, b'{"message":"unknown"}')


def test_a_connector_is_known_whatever_has_become_of_the_others() -> None:
    with served(Worker) as url:
        settings = Settings({"KAFKA_CONNECT_URL": url})
        assert Connectors.known(settings, ["own"]).config_of("own") == {"name": "own", "topics": "t"}
        assert Connectors.known(settings).config_of("own") == {"name": "own", "topics": "t"}
        with pytest.raises(ServiceUnavailable, match="connector other is not known.*the runtime is starting"):
            Connectors.known(settings, ["other"]).config_of("other")
        with pytest.raises(NotFound, match="connector gone does not exist"):
            Connectors.known(settings, ["gone"]).config_of("gone")
