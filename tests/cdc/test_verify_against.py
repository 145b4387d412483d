"""The verb `verify --against`."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from typer.testing import CliRunner, Result

from frazil.cli.main import app
from frazil.cli.verbs.verify_database import access_of
from frazil.clients import catalog as catalogs
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, UsageError
from tests.cdc.goods import catalog_with, goods

SINK = {
    "name": "shop-tables",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "dbz.public.goods",
    "iceberg.tables": "shop.goods",
    "iceberg.catalog.type": "rest",
    "iceberg.catalog.uri": "http://127.0.0.1:9",
    "frazil.cdc.format": "debezium",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
Verify = Callable[..., Result]


@pytest.fixture
def verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Verify:
    """Runs the verb for a connector whose table has some rows."""
    (tmp_path / "sink.json").write_text(json.dumps(SINK))

    def run(rows: list[dict[str, Any]], address: str, *options: str) -> Result:
        catalog = catalog_with(tmp_path, rows)
        monkeypatch.setattr(catalogs, "connect", lambda properties, name: catalog)
        return CliRunner().invoke(
            app, ["verify", "--config", str(tmp_path / "sink.json"), "--against", address, *options]
        )

    return run


def address_of(settings: Settings, password: str | None = None) -> str:
    access = settings.postgres_access()
    secret = quote(access["password"] if password is None else password, safe="")
    return f"postgres://{access['user']}:{secret}@{access['host']}:{access['port']}/{access['dbname']}"


@pytest.mark.stack
def test_equal_tables_end_with_0(verify: Verify, postgres: Settings) -> None:
    result = verify(goods(), address_of(postgres))
    assert (result.exit_code, result.exception) == (0, None)
    assert "Each row of the database is in its table once, as it is, and no other row." in result.stdout
    assert "shop.goods has no column extra; its values count as null" in result.stdout


@pytest.mark.stack
def test_keys_of_rows_that_differ_are_shown_and_it_ends_with_1(verify: Verify, postgres: Settings) -> None:
    rows = goods()
    rows[9]["price"] += Decimal("0.01")
    del rows[29]
    result = verify(rows, address_of(postgres))
    assert result.exit_code == 1
    assert "shop.goods: only in the database: id=30\n" in result.stdout
    assert "shop.goods: other: id=10\n" in result.stdout
    assert "Each row of the database" not in result.stdout


@pytest.mark.stack
def test_json_has_the_keys_too(verify: Verify, postgres: Settings) -> None:
    result = verify([*goods(), {"id": 9999, "name": "x", "price": None}], address_of(postgres), "-o", "json")
    assert result.exit_code == 1
    (body,) = json.loads(result.stdout)
    assert (body["equal"], body["rows"], body["stored"], body["surplus"]) == (False, 3000, 3001, [{"id": 9999}])


@pytest.mark.stack
def test_a_refused_login_is_told_without_the_password(verify: Verify, postgres: Settings) -> None:
    result = verify([], address_of(postgres, "guess me"))
    assert isinstance(result.exception, ServiceUnavailable)
    assert "guess" not in str(result.exception)


@pytest.mark.parametrize("options", [("--partition", "0"), ("--from", "1"), ("--to", "2")])
def test_options_for_topics_are_refused(verify: Verify, options: tuple[str, ...]) -> None:
    result = verify([], "postgres://", *options)
    assert isinstance(result.exception, UsageError)
    assert "are for topics, not for --against. Nothing was compared." in str(result.exception)


@pytest.mark.parametrize("address", ["mysql://h/d", "postgres://h:port/d", "postgres://h/d?sslmode=off", "h/d", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="expected postgres://USER:PASSWORD@HOST:PORT/NAME"):
        access_of(Settings({}), address)


def test_what_an_address_leaves_out_is_that_of_the_variables() -> None:
    settings = Settings(
        {"AWS_RDS_ENDPOINT": "db", "AWS_RDS_USER": "ann", "AWS_RDS_PASSWORD": "p", "AWS_RDS_DBNAME": "d"}
    )
    assert access_of(settings, "postgres://") == settings.postgres_access()
    found = access_of(settings, "postgresql://bob%40x:a%2Fb@other:6000/sales")
    assert (found["user"], found["password"], found["host"], found["port"], found["dbname"]) == (
        *("bob@x", "a/b", "other"),
        *(6000, "sales"),
    )
