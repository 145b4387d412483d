"""The verb `snapshot` on a server that is a standby."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from frazil.cdc.slot import check_server
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from frazil.stack.local import LocalStack
from frazil.stack.postgres import data_folder, postgres_service
from tests.isolation import isolated_settings

pytestmark = pytest.mark.stack


@pytest.fixture
def standby(tmp_path: Path) -> Iterator[Settings]:
    """A PostgreSQL that waits for the log of a primary."""
    settings = isolated_settings(tmp_path)
    service = postgres_service(settings)
    service.start(lambda text: None)
    service.stop()
    signal = data_folder(settings) / "standby.signal"
    signal.touch()
    shutil.chown(signal, data_folder(settings).stat().st_uid)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("frazil.stack.postgres._make_database", lambda settings: None)  # it takes no commands
        service.start(lambda text: None)
        yield settings
        service.stop()
    LocalStack(settings).clean()


def test_it_is_refused_and_the_primary_is_asked_for(standby: Settings) -> None:
    with (
        psycopg.connect(**standby.postgres_access()) as connection,
        pytest.raises(
            ConfigError, match="the server is a standby, which does not tell .*Write the primary in database.hostname"
        ),
    ):
        check_server(connection)
