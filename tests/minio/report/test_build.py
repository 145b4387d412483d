"""The report on tables without records and without some of the tables; `test_report` has one with records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from frazil.minio.report.build import build
from frazil.minio.report.page import html
from frazil.minio.report.panels import VIEWS, Span
from frazil.sql.engine import Engine
from tests.sql.catalogs import LOG_TABLES, MetadataCatalog

NOW = datetime(2026, 11, 28, 12, 30, tzinfo=UTC)


def page(*tables: str) -> tuple[str, list[str]]:
    """The page of a catalog with these empty tables, and the steps that were shown."""
    catalog = MetadataCatalog({name: LOG_TABLES[name] for name in tables})
    steps: list[str] = []
    engine = Engine(catalog, "s3://kafkawarehouse", "streaming")
    return html(build(engine, Span(NOW - timedelta(hours=24), NOW), NOW, steps.append)), steps


def test_tables_without_records() -> None:
    text, steps = page(*LOG_TABLES)
    assert "The tables have no records of this time." in text
    assert text.count("Nothing in this time.") == len(VIEWS)
    assert "2026-11-27 12:30:00 to 2026-11-28 12:30:00" in text
    assert steps[-1] == "drawing"
    assert len(steps) == len({view.question for view in VIEWS}) + 2


def test_a_missing_table_is_named_and_the_other_questions_are_answered() -> None:
    text, _ = page("apilogs", "auditlogs")
    assert "There is no table errorlogs:" in text
    assert "No answer: there is no table streaming.errorlogs" in text
    assert "Nothing in this time." in text


def test_no_table_at_all() -> None:
    text, _ = page()
    assert "There is no table apilogs, auditlogs, errorlogs:" in text
    assert text.count("No answer: there is no table") == len(VIEWS)


@pytest.mark.parametrize(
    ("hours", "step", "first", "last"),
    [
        (24, 3600, NOW - timedelta(hours=24, minutes=30), NOW + timedelta(minutes=30)),
        (24 * 30, 86400, datetime(2026, 10, 29, tzinfo=UTC), datetime(2026, 11, 29, tzinfo=UTC)),
    ],
)
def test_bars_of_hours_and_of_days(hours: int, step: int, first: datetime, last: datetime) -> None:
    span = Span(NOW - timedelta(hours=hours), NOW)
    assert (span.step_s, span.first, span.last) == (step, first, last)


def test_the_end_is_no_bar_of_its_own() -> None:
    whole = Span(datetime(2026, 11, 28, 10, tzinfo=UTC), datetime(2026, 11, 28, 12, tzinfo=UTC))
    assert (whole.last - whole.first) == timedelta(hours=2)
