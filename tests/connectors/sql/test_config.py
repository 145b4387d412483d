"""Configurations of connectors with a statement."""

from __future__ import annotations

import pytest

from frazil.connectors.registry import checked, find_connector
from frazil.connectors.sql.config import parse_sql, sql_config, sql_object_config, sql_topic_config
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from tests.connectors.samples import MINIMAL_S3_SINK, MINIMAL_SINK

GOOD = {
    **MINIMAL_SINK,
    "connector.class": "SqlSink",
    "topics": "t,u",
    "frazil.sql": "SELECT id FROM t UNION ALL SELECT n FROM u",
    "frazil.sql.schema": "id BIGINT",
    "frazil.sql.schema.u": "n BIGINT",
}


def test_the_class_has_its_names() -> None:
    for name in ("frazil.SqlConnector", "SqlConnector", "SqlSink", "Sql"):
        assert find_connector(name).class_name == "frazil.SqlConnector"


def test_topics_have_columns_of_their_own() -> None:
    assert parse_sql(GOOD).error_texts() == []
    _, own = sql_config(GOOD)
    assert {topic: str(struct) for topic, struct in own.columns.items()} == {
        "t": "struct<id: long>",
        "u": "struct<n: long>",
    }


@pytest.mark.parametrize(
    ("changes", "key", "said"),
    [
        ({"frazil.sql": "SELECT id FROM t JOIN"}, "frazil.sql", "line 1, column"),
        ({"frazil.sql.schema": ""}, "frazil.sql.schema", "The columns of t are not given"),
        ({"frazil.sql.schema": "id"}, "frazil.sql.schema", "'id' is no column"),
        ({"frazil.sql.schema.u": "n TINYINT"}, "frazil.sql.schema.u", "is no type here"),
        ({"frazil.sql.schema.w": "n INT"}, "frazil.sql.schema.w", "topics does not name"),
        ({"iceberg.tables": "db.a,db.b"}, "iceberg.tables", "the rows of a statement go to one table"),
        ({"iceberg.tables.route-field": "x"}, "iceberg.tables.route-field", "Not for a connector with frazil.sql"),
        ({"iceberg.tables.cdc-field": "op"}, "iceberg.tables.cdc-field", "Not for a connector with frazil.sql"),
        ({"topics": "", "topics.regex": "t.*"}, "frazil.sql", "there is no topic or view t; there are records"),
        (
            {"topics": "", "topics.regex": "t.*", "frazil.sql": "SELECT id FROM records"},
            "frazil.sql.schema.u",
            "is for a topic that topics does not name",
        ),
    ],
)
def test_errors_are_those_of_their_keys(changes: dict[str, str], key: str, said: str) -> None:
    assert said in " ".join(parse_sql({**GOOD, **changes}).errors[key])


STATE = {
    **MINIMAL_SINK,
    "connector.class": "SqlSink",
    "frazil.sql": "SELECT window.start AS minute, count(*) AS n FROM t GROUP BY window(at, '1 minute')",
    "frazil.sql.schema": "id BIGINT, at TIMESTAMP",
    "frazil.watermark": "at 10 seconds",
}


def test_a_watermark_lets_a_statement_have_state() -> None:
    assert parse_sql(STATE).error_texts() == []
    _, own = sql_config({**STATE, "frazil.watermark": "_timestamp 2 Hours", "frazil.dedup.keys": "id"})
    assert own.statement.state
    assert own.statement.metadata == ("_timestamp",)
    assert (own.state.watermarks["t"].column, own.state.watermarks["t"].delay) == ("_timestamp", "2 hours")


@pytest.mark.parametrize(
    ("changes", "key", "said"),
    [
        ({"frazil.watermark": "at"}, "frazil.watermark", "such as: at 10 seconds"),
        ({"frazil.watermark": "id 1 minute"}, "frazil.watermark", "t has no column id of type TIMESTAMP; there are at"),
        ({"frazil.watermark.u": "at 1 minute"}, "frazil.watermark.u", "for a topic that topics does not name"),
        ({"frazil.watermark": ""}, "frazil.sql", "it keeps state of t, and nothing says for how long"),
        ({"frazil.dedup.keys": "x"}, "frazil.dedup.keys", "t has no column x"),
        ({"frazil.late": "drop"}, "frazil.late", "drop"),
        ({"frazil.late": "dead-letter"}, "frazil.late", "set errors.tolerance=all too"),
    ],
)
def test_errors_about_state_are_those_of_their_keys(changes: dict[str, str], key: str, said: str) -> None:
    assert said in " ".join(parse_sql({**STATE, **changes}).errors[key])


def test_state_on_executors_elsewhere_is_refused_at_creation() -> None:
    for master in ("local[*]", "local-cluster[2,1,1024]"):
        checked(STATE, Settings({"SPARK_MASTER": master}))
    for master in ("spark://head:7077", "k8s://https://head", "yarn"):
        settings = Settings({"SPARK_MASTER": master})
        with pytest.raises(ConfigError, match=f"executors elsewhere do not reach.*{master}\\)"):
            checked(STATE, settings)
        checked({**STATE, "frazil.sql": "SELECT id FROM t", "frazil.dedup.keys": ""}, settings)


def test_objects_hold_no_state() -> None:
    groups = {"frazil.sql": "SELECT count(*) AS n FROM t"}
    assert "objects have no place for the state" in parse_sql({**OBJECTS, **groups}).errors["frazil.sql"][0]
    assert "objects have no place" in parse_sql({**OBJECTS, "frazil.dedup.keys": "id"}).errors["frazil.dedup.keys"][0]


OBJECTS = {
    **MINIMAL_S3_SINK,
    "connector.class": "SqlSink",
    "frazil.sql": "SELECT id FROM t",
    "frazil.sql.schema": "id BIGINT",
}


def test_a_bucket_makes_objects_of_the_rows() -> None:
    assert parse_sql(OBJECTS).error_texts() == []
    config, own = sql_object_config(OBJECTS)
    assert (config.store.bucket, config.computed, own.statement.topics) == ("b", True, ("t",))


@pytest.mark.parametrize(
    ("changes", "key", "said"),
    [
        ({"frazil.sql": "SELECT id FROM t JOIN n.d USING (id)"}, "frazil.sql", "joins with table n.d"),
        ({"frazil.sql": "SELECT id FROM t UNION ALL SELECT 1 FROM t"}, "frazil.sql", "records of t several times"),
        (
            {"frazil.sql": "WITH v AS (SELECT id FROM t) SELECT id FROM v UNION ALL SELECT 1 FROM v"},
            "frazil.sql",
            "records of t several times",
        ),
        ({"format.class": "io.confluent.connect.s3.format.bytearray.ByteArrayFormat"}, "format.class", "have columns"),
        ({"iceberg.tables": "db.a"}, "iceberg.tables", "to objects with s3.bucket.name, or to a table"),
        ({"store.kafka.keys": "true"}, "store.kafka.keys", "rows of a statement are no records"),
        (
            {"topics": "", "topics.regex": "t.*", "frazil.sql": "SELECT 1 FROM records", "frazil.sql.schema": ""},
            "frazil.sql.schema",
            "The columns of records are not given",
        ),
    ],
)
def test_errors_of_objects_are_those_of_their_keys(changes: dict[str, str], key: str, said: str) -> None:
    assert said in " ".join(parse_sql({**OBJECTS, **changes}).errors[key])


def test_a_placeholder_is_looked_at_when_the_connector_starts() -> None:
    assert (
        parse_sql({**GOOD, "frazil.sql": "${file:/x:sql}", "frazil.sql.schema.u": "${file:/x:u}"}).error_texts() == []
    )


def test_a_missing_statement_is_an_error() -> None:
    assert "frazil.sql" in parse_sql({key: text for key, text in GOOD.items() if key != "frazil.sql"}).errors


TOPIC = {
    "name": "c",
    "connector.class": "SqlSink",
    "topics": "t",
    "frazil.sql.schema": "id BIGINT",
    "frazil.sql": "SELECT id FROM t",
    "frazil.sql.topic": "rows",
    "frazil.sql.topic.key": "id",
}


def test_a_topic_takes_the_place_of_a_table() -> None:
    config, own = sql_topic_config(TOPIC)
    assert (config.topic, config.key_columns, config.interval_ms) == ("rows", ("id",), 1000)
    assert own.statement.topics == ("t",)


@pytest.mark.parametrize(
    ("changes", "key", "said"),
    [
        ({"frazil.sql.topic": "t"}, "frazil.sql.topic", "would read its own rows without end"),
        ({"topics": "", "topics.regex": "t.*"}, "topics.regex", "name the topics"),
        ({"iceberg.tables": "n.t"}, "iceberg.tables", "rows go to the topic"),
        ({"s3.bucket.name": "b"}, "s3.bucket.name", "rows go to the topic"),
        ({"frazil.sql": "SELECT count(*) AS n FROM t"}, "frazil.sql", "a topic has no place for the state"),
        ({"frazil.sql": "SELECT t.id FROM t JOIN n.x ON t.id = x.id"}, "frazil.sql", "it joins with table n.x"),
        ({"frazil.watermark": "at 1 second"}, "frazil.watermark", "a topic has no place for the state"),
        ({"frazil.sql.topic.interval.ms": "-1"}, "frazil.sql.topic.interval.ms", "at least 0"),
    ],
)
def test_errors_of_topics_are_those_of_their_keys(changes: dict[str, str], key: str, said: str) -> None:
    errors = parse_sql({**TOPIC, **changes}).errors
    assert any(said in text for text in errors[key]), errors


def test_headers_are_read_where_a_transformation_takes_them() -> None:
    own = {"type": "io.debezium.transforms.HeaderToValue", "headers": "a", "fields": "a", "operation": "copy"}
    keys = {"transforms": "h", **{f"transforms.h.{key}": text for key, text in own.items()}}
    assert sql_topic_config({**TOPIC, **keys})[0].reads_headers
    assert not sql_topic_config(TOPIC)[0].reads_headers
