"""A PostgreSQL of the tests, with a table of goods."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from frazil.environment.settings import Settings
from frazil.stack.local import LocalStack
from frazil.stack.postgres import postgres_service
from tests.isolation import isolated_settings


@pytest.fixture(scope="package")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    settings = isolated_settings(tmp_path_factory.mktemp("postgres"))
    service = postgres_service(settings)
    service.start(lambda text: None)
    with psycopg.connect(**settings.postgres_access()) as connection:
        connection.execute("CREATE TABLE goods (id int PRIMARY KEY, name text, price numeric(10,2), extra text)")
        connection.execute("INSERT INTO goods SELECT g, 'n' || g, g / 4.0 FROM generate_series(1, 3000) g")
        connection.execute("CREATE TABLE keyless (id int)")
    yield settings
    service.stop()
    LocalStack(settings).clean()
