from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    TimestamptzType,
)

from frazil.clients.catalog import connect
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable
from frazil.minio.questions import publish
from frazil.minio.questions.catalog import QUESTIONS, VIEWS
from frazil.minio.questions.views import view_schema
from tests.minio.questions.conftest import Asked

PYTHON: dict[type[IcebergType], type[Any]] = {
    StringType: str,
    TimestamptzType: datetime,
    LongType: int,
    IntegerType: int,
    DoubleType: float,
    BooleanType: bool,
    MapType: dict,
}


@pytest.mark.stack
@pytest.mark.parametrize("name", QUESTIONS)
def test_columns_have_the_types_of_the_answer(asked: Asked, name: str) -> None:
    fields = view_schema(QUESTIONS[name]).fields
    assert [field.name for field in fields] == list(QUESTIONS[name].columns)
    rows = asked.ask(name)
    for field in fields:
        found = {type(row[field.name]) for row in rows if row[field.name] is not None}
        assert found <= {PYTHON[type(field.field_type)]}, field


@pytest.mark.stack
def test_views_are_created_kept_and_replaced(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    def published() -> dict[str, str]:
        outcomes: dict[str, str] = {}
        publish.publish_views(asked.settings, outcomes.__setitem__)
        return outcomes

    catalog = connect({**asked.settings.catalog_properties(), "view-endpoints-supported": "true"})
    for identifier in catalog.list_views(asked.settings.namespace):
        catalog.drop_view(identifier)
    assert published() == dict.fromkeys(VIEWS, "created")
    assert {identifier[-1] for identifier in catalog.list_views(asked.settings.namespace)} == set(VIEWS)
    assert {identifier[-1] for identifier in catalog.list_tables(asked.settings.namespace)}.isdisjoint(VIEWS)

    monkeypatch.setitem(VIEWS, "errors", dataclasses.replace(VIEWS["errors"], sql="SELECT api FROM api_calls"))
    assert {name: outcome for name, outcome in published().items() if outcome != "exists"} == {"errors": "updated"}
    stored = catalog.load_view((asked.settings.namespace, "errors")).sql_for("trino")
    assert stored is not None
    assert f'"{asked.settings.namespace}".apilogs' in stored.sql


@pytest.mark.stack
def test_the_embedded_engine_answers_from_the_declaration_also_when_views_are_stored(asked: Asked) -> None:
    publish.publish_views(asked.settings, lambda name, outcome: None)
    assert len(asked.rows("SELECT * FROM errors")) == len(asked.ask("errors"))


def test_a_catalog_that_does_not_answer(free_ports: Callable[[int], list[int]]) -> None:
    [port] = free_ports(1)
    settings = Settings({"ICEBERG_CATALOG_PORT": str(port)})
    with pytest.raises(ServiceUnavailable, match="does not answer"):
        publish.publish_views(settings, lambda name, outcome: None)
