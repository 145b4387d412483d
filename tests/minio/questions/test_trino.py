"""The same statements on a real Trino, and the stored views there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from frazil.environment.settings import Settings
from frazil.minio.questions.catalog import QUESTIONS, VIEWS
from frazil.minio.questions.publish import publish_views
from frazil.minio.questions.question import Value
from frazil.sql.trino import TrinoEngine
from tests.minio.questions.conftest import NAMESPACE, Asked
from tests.minio.questions.records import NIGHT

pytestmark = pytest.mark.trino

STORY: dict[str, Value] = {
    "since": datetime.fromisoformat(f"{NIGHT}00Z"),
    "until": datetime.fromisoformat(f"{NIGHT}59:59Z"),
    "bucket": "vault",
    "object": 'plan\'s "draft".pdf',
    "user": "storykey",
    "rows": 100_000,
}

FEW = ("errors", "sessions", "who-deleted")
"""One of each table: the stored views have most of what the others ask."""


@pytest.fixture(scope="module")
def on_trino(asked: Asked, trino: Settings) -> Asked:
    settings = Settings({**trino.env, "NAMESPACE_NAME": NAMESPACE})
    return Asked(TrinoEngine(settings), settings, asked.made, asked.calls)


@pytest.fixture(scope="module")
def views(on_trino: Asked) -> Asked:
    publish_views(on_trino.settings, lambda name, outcome: None)
    return on_trino


def comparable(rows: list[dict[str, Any]]) -> list[str]:
    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return round(value, 6)
        return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value

    return sorted(repr({name: plain(value) for name, value in row.items()}) for row in rows)


def taken(name: str) -> dict[str, Value]:
    """Values for all that a question takes."""
    return {parameter.name: STORY[parameter.name] for parameter in QUESTIONS[name].parameters}


def alike(asked: Asked, on_trino: Asked, name: str, values: dict[str, Value]) -> None:
    assert comparable(on_trino.ask(name, **values)) == comparable(asked.ask(name, **values)), values


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.faults) for name in QUESTIONS]
)
def test_both_engines_answer_alike(asked: Asked, on_trino: Asked, name: str) -> None:
    alike(asked, on_trino, name, {})
    alike(asked, on_trino, name, taken(name))


@pytest.mark.faults
@pytest.mark.parametrize("name", QUESTIONS)
def test_both_engines_answer_alike_to_each_value_alone(asked: Asked, on_trino: Asked, name: str) -> None:
    for parameter, value in taken(name).items():
        alike(asked, on_trino, name, {parameter: value})


@pytest.mark.parametrize("name", VIEWS)
def test_trino_reads_the_stored_views(views: Asked, name: str) -> None:
    rows = views.rows(f"SELECT * FROM {name}")  # noqa: S608
    assert list(rows[0]) == list(VIEWS[name].columns)
    assert comparable(rows) == comparable(views.ask(VIEWS[name].name))
