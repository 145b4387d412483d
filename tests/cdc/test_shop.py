"""The demo's shop in a real PostgreSQL, and the connectors that the demo puts on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from frazil.cdc.shop import TABLES, Shop
from frazil.cli.verbs.demo_cdc import connectors
from frazil.connectors.debezium_keys import errors_of, is_debezium, warnings_of_debezium
from frazil.connectors.registry import checked
from frazil.environment.settings import Settings
from frazil.stack.local import LocalStack
from frazil.stack.postgres import postgres_service
from tests.isolation import isolated_settings


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Settings]:
    settings = isolated_settings(tmp_path / "home")
    service = postgres_service(settings)
    service.start(lambda text: None)
    yield settings
    service.stop()
    LocalStack(settings).clean()


@pytest.mark.stack
def test_business_changes_rows_in_every_way(postgres: Settings) -> None:
    shop = Shop(postgres.postgres_access(), seed=3)
    shop.fill(20)
    with psycopg.connect(**postgres.postgres_access(), autocommit=True) as watcher:
        watcher.execute("SELECT pg_stat_reset()")
        for _ in range(150):
            shop.transact()
        shop.close()
        Shop(postgres.postgres_access()).close()  # opens once more
        watcher.execute("SELECT pg_stat_force_next_flush()")
        found = watcher.execute(
            "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE relname = ANY (%s)",
            [list(TABLES)],
        ).fetchall()
        longest = watcher.execute("SELECT max(length(note)) FROM orders").fetchone()
        orphans = watcher.execute(
            'SELECT count(*) FROM items WHERE NOT EXISTS (SELECT FROM orders WHERE id = items."order")'
        ).fetchone()
    counts = {name: numbers for name, *numbers in found}
    assert all(min(counts[name]) > 0 for name in ("orders", "items"))
    assert counts["customers"][2] > 0
    assert longest == (3000,)
    assert orphans == (0,)


def test_its_connectors_would_be_taken_without_a_warning_about_changes(tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path, AWS_RDS_PASSWORD="pw", ICEBERG_CATALOG_URI="http://127.0.0.1:1")
    for name, config in connectors(settings).items():
        if is_debezium(config["connector.class"]):
            assert (errors_of(config), warnings_of_debezium(config)) == ([], [])
        else:
            checked({**config, "name": name}, settings)
