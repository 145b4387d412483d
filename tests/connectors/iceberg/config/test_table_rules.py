"""Which tables a connector writes."""

from __future__ import annotations

import os
import re

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config, parse_iceberg_sink
from frazil.declare.definition import Parsed
from frazil.pipeline.route import Route
from tests.connectors.samples import MINIMAL_SINK

CLASSES = (
    "io.tabular.iceberg.connect.IcebergSinkConnector",
    "org.apache.iceberg.connect.IcebergSinkConnector",
)
ROUTED = {"iceberg.tables": "db.a,db.b", "iceberg.tables.route-field": "data.kind"}


@pytest.fixture(params=CLASSES, ids=["tabular", "apache"], autouse=True)
def base(request: pytest.FixtureRequest) -> dict[str, str]:
    return {
        "name": "c",
        "connector.class": request.param,
        "topics": "t",
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": "http://127.0.0.1:1/",
    }


def parse(base: dict[str, str], more: dict[str, str]) -> Parsed:
    return parse_iceberg_sink(base | more)


def config(base: dict[str, str], more: dict[str, str]) -> IcebergSinkConfig:
    return iceberg_sink_config(base | more)


def test_defaults_of_a_table(base: dict[str, str]) -> None:
    found = config(base, {"iceberg.tables": "db.landing"})
    assert (found.tables, found.commit_interval_ms, found.route) == (("db.landing",), 300_000, None)
    assert (found.branch_of("db.landing"), found.commit_threads) == ("main", 2 * (os.cpu_count() or 1))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (
            {"iceberg.tables": "db.a", "iceberg.tables.dynamic-enabled": "true"},
            "Cannot specify both static and dynamic table names",
        ),
        (
            {"iceberg.tables": "db.a", "frazil.tables.topic-pattern": "db.{topic}"},
            "Cannot specify both static and dynamic table names",
        ),
        (
            {"iceberg.tables.dynamic-enabled": "true"},
            "Must specify a route field if using dynamic table names",
        ),
        ({}, "Must specify table name(s)"),
        ({"iceberg.tables": "one"}, "Table names are written namespace.table"),
        ({"iceberg.tables": "db.a", "iceberg.tables.route-field": " "}, "String must be non-empty"),
        (
            {"iceberg.tables.route-field": "a", "frazil.tables.topic-pattern": "db.{topic}"},
            "Cannot name tables after topics and by iceberg.tables.route-field",
        ),
        ({"frazil.tables.topic-pattern": "db"}, "Write it as namespace.{topic}"),
        (ROUTED | {"iceberg.table.db.a.route-regex": "("}, "Invalid regex"),
        (ROUTED | {"iceberg.table.db.a.route-regex": r"(a)\1"}, "keep it busy for hours"),
        ({"iceberg.tables": "db.a", "iceberg.control.commit.threads": "0"}, "Value must be at least 1"),
    ],
)
def test_keys_that_contradict_each_other(base: dict[str, str], keys: dict[str, str], text: str) -> None:
    assert any(text in error for error in parse(base, keys).error_texts())


def test_a_catalog_is_needed(base: dict[str, str]) -> None:
    bare = {name: value for name, value in base.items() if not name.startswith("iceberg.catalog.")}
    texts = parse(bare, {"iceberg.tables": "db.a"}).error_texts()
    assert any(text.startswith("Must specify Iceberg catalog properties") for text in texts)


@pytest.mark.parametrize(
    ("text", "tables"), [("", ()), ("db.one ", ("db.one",)), ("db.one, db.two", ("db.one", "db.two"))]
)
def test_lists_are_split_and_trimmed(base: dict[str, str], text: str, tables: tuple[str, ...]) -> None:
    assert parse(base, {"iceberg.tables": text}).items("iceberg.tables") == tables


@pytest.mark.parametrize(
    ("keys", "route"),
    [
        (
            ROUTED | {"iceberg.table.db.b.route-regex": "x.*"},
            Route(("data", "kind"), (("db.b", "x.*"),)),
        ),
        (
            {"iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "table"},
            Route(("table",), dynamic=True),
        ),
        ({"frazil.tables.topic-pattern": "db.{topic}"}, Route(topic_pattern="db.{topic}")),
        (
            {"frazil.tables.topic-pattern": "{topic}", "iceberg.tables.dynamic-enabled": "true"},
            Route(topic_pattern="{topic}"),
        ),
    ],
)
def test_routes(base: dict[str, str], keys: dict[str, str], route: Route) -> None:
    found = config(base, keys)
    assert found.route == route
    assert found.route is not None
    assert found.route.names_tables is (not found.tables)


def test_branches_of_tables_that_records_name(base: dict[str, str]) -> None:
    keys = {
        "frazil.tables.topic-pattern": "db.{topic}",
        "iceberg.tables.default-commit-branch": "audit",
        "iceberg.table.db.a.commit-branch": "own",
    }
    found = config(base, keys)
    assert (found.branch_of("db.a"), found.branch_of("db.b")) == ("own", "audit")


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        (ROUTED, "db.a gets no records: .*route-regex is not"),
        ({"iceberg.tables": "db.a", "iceberg.table.db.b.route-regex": "x"}, "db.b is not in iceberg.tables"),
        ({"iceberg.tables": "db.a", "iceberg.table.db.a.route-regex": "x"}, "every record goes to every table"),
        (
            {
                "iceberg.tables.dynamic-enabled": "true",
                "iceberg.tables.route-field": "t",
                "iceberg.table.db.a.route-regex": "x",
            },
            "the value of iceberg.tables.route-field is the table's name",
        ),
    ],
)
def test_keys_without_effect_give_a_warning(base: dict[str, str], keys: dict[str, str], warning: str) -> None:
    parsed = parse(base, keys)
    assert not parsed.error_texts()
    assert any(re.search(warning, text) for text in parsed.warnings)


def test_keys_of_tables_that_records_name_say_when_they_do_nothing() -> None:
    parsed = parse_iceberg_sink({**MINIMAL_SINK, "frazil.tables.allowed": "a", "frazil.tables.max.new": "1"})
    told = "has no effect here: the records do not name their tables"
    assert [text for text in parsed.warnings if told in text] == [
        f"frazil.tables.allowed {told}",
        f"frazil.tables.max.new {told}",
    ]
