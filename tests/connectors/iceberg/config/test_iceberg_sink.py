"""Defaults and rules of the keys, and the typed configuration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config, parse_iceberg_sink
from frazil.errors import ConfigError
from frazil.minio.records.tables import API_SCHEMA
from tests.connectors.samples import MINIMAL_SINK, SEED_SINK


def errors(changes: dict[str, str | None]) -> list[str]:
    merged = {**MINIMAL_SINK, **changes}
    return parse_iceberg_sink({key: value for key, value in merged.items() if value is not None}).error_texts()


def test_defaults_of_a_smallest_configuration() -> None:
    parsed = parse_iceberg_sink(MINIMAL_SINK)
    assert parsed.error_texts() == []
    assert parsed.values["iceberg.control.commit.interval-ms"] == 300_000
    assert parsed.values["iceberg.control.commit.timeout-ms"] == 30_000


def test_tables_are_either_static_or_dynamic() -> None:
    found = errors({"iceberg.tables.dynamic-enabled": "true"})
    assert "Cannot specify both static and dynamic table names" in found


def test_dynamic_tables_need_a_route_field() -> None:
    found = errors({"iceberg.tables": None, "iceberg.tables.dynamic-enabled": "true"})
    assert "Must specify a route field if using dynamic table names" in found


def test_tables_are_needed() -> None:
    assert errors({"iceberg.tables": None}) == ["Must specify table name(s)"]


def test_catalog_properties_are_needed() -> None:
    (error,) = errors({"iceberg.catalog.type": None})
    assert error.startswith("Must specify Iceberg catalog properties: iceberg.catalog.type, iceberg.catalog.uri")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("uir", "uri"),
        ("warehouses", "warehouse"),
        ("warehuse", "warehouse"),
        ("tokem", "token"),
        ("gcs.endpoint", None),
        ("client.secret-access-key", None),
        ("header.Authorization", None),
    ],
)
def test_a_property_of_the_catalog_that_is_nearly_a_usual_one_is_a_warning(name: str, meant: str | None) -> None:
    parsed = parse_iceberg_sink({**MINIMAL_SINK, f"iceberg.catalog.{name}": "x"})
    told = [text for text in parsed.warnings if "did you mean" in text]
    assert told == (
        []
        if meant is None
        else [f"iceberg.catalog.{name} is no property that is known here; did you mean iceberg.catalog.{meant}?"]
    )


@pytest.mark.parametrize(
    ("text", "tables"), [("db.one ", ("db.one",)), ("db.one, db.two", ("db.one", "db.two")), ("", ())]
)
def test_lists_are_split_and_trimmed(text: str, tables: tuple[str, ...]) -> None:
    assert parse_iceberg_sink({**MINIMAL_SINK, "iceberg.tables": text}).items("iceberg.tables") == tables


@pytest.mark.parametrize("prefix", ["iceberg.tables.write-props.", "iceberg.table.write-props."])
def test_both_spellings_of_write_properties(prefix: str) -> None:
    config = iceberg_sink_config({**MINIMAL_SINK, prefix + "write.format.default": "orc"})
    assert config.write_properties == {"write.format.default": "orc"}


@pytest.mark.parametrize(
    "changes",
    [
        {"iceberg.catalog.type": "hive"},
        {"iceberg.catalog.type": None, "iceberg.catalog.uri": "http://x"},
        {"iceberg.catalog.type": None, "iceberg.catalog.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"},
    ],
)
def test_other_catalogs_are_refused(changes: dict[str, str | None]) -> None:
    (text,) = errors(changes)
    assert text.startswith("Only REST catalogs are supported: set iceberg.catalog.type")


def test_the_configuration_of_a_log_connector() -> None:
    config = iceberg_sink_config(SEED_SINK)
    assert config.name == "iceberg-sink-apilogs"
    assert (config.topics, config.topics_regex) == (("apilogs",), None)
    assert config.tables == ("streaming.apilogs",)
    assert (config.evolve_schema, config.auto_create) == (True, False)
    assert (config.commit_interval_ms, config.tasks_max, config.max_records_per_batch) == (10_000, 2, 500_000)
    assert config.commit_branches == {"streaming.apilogs": "main"}
    assert config.catalog_name == "iceberg"
    assert config.catalog_properties == {
        key.removeprefix("iceberg.catalog."): value
        for key, value in SEED_SINK.items()
        if key.startswith("iceberg.catalog.")
    }
    assert (config.group_id, config.auto_offset_reset) == ("connect-iceberg-sink-apilogs", "earliest")
    assert (config.value_converter, config.schemas_enable) == ("org.apache.kafka.connect.json.JsonConverter", False)
    assert (config.errors_tolerance, config.dead_letter_topic) == ("none", None)
    assert config.redact


def test_a_log_connector_warns_about_keys_that_have_no_effect() -> None:
    warned = {text.partition(" ")[0] for text in parse_iceberg_sink(SEED_SINK).warnings}
    assert warned == {"iceberg.control.commit.timeout-ms", "key.converter"}


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (
            "write.parquet.compression-codec",
            "zst",
            "String must be one of: zstd, gzip, snappy, lz4, brotli, uncompressed",
        ),
        ("write.parquet.compression-level", "high", "Not a number of type INT"),
    ],
)
def test_write_properties_that_no_file_can_be_written_with(name: str, value: str, reason: str) -> None:
    key = f"iceberg.tables.write-props.{name}"
    assert errors({key: value}) == [f"Invalid value {value} for configuration {key}: {reason}"]
    good = {"write.parquet.compression-codec": "lz4", "write.parquet.compression-level": "-1"}
    assert errors({f"iceberg.tables.write-props.{n}": v for n, v in good.items()}) == []


@pytest.mark.parametrize(
    ("changes", "names", "known"),
    [
        ({}, None, True),
        ({"frazil.record.mappers": "minio"}, ("minio",), True),
        ({"frazil.record.mappers": " "}, (), False),
    ],
)
def test_record_mappers_are_all_that_are_installed_or_those_named(
    changes: dict[str, str], names: tuple[str, ...] | None, known: bool
) -> None:
    config = iceberg_sink_config({**MINIMAL_SINK, **changes})
    assert config.record_mappers == names
    assert (config.mapper_for(API_SCHEMA) is not None) == known


def test_record_mappers_that_are_not_installed_are_refused() -> None:
    assert errors({"frazil.record.mappers": "minio, orders"}) == [
        "Invalid value [minio, orders] for configuration frazil.record.mappers: No record mapper orders is installed; "
        "there are: minio"
    ]


def test_dead_letter_topics() -> None:
    tolerant = {**MINIMAL_SINK, "topics": "a,b", "errors.tolerance": "all"}
    assert iceberg_sink_config(tolerant).dead_letter_topic is None
    named = iceberg_sink_config({**tolerant, "errors.deadletterqueue.topic.name": "dead"})
    assert named.dead_letter_topic == "dead"
    assert (named.dead_letter_replication, named.dead_letter_headers) == (-1, False)


def test_branches_per_table() -> None:
    config = {
        **MINIMAL_SINK,
        "iceberg.tables": "db.a,db.b",
        "iceberg.tables.default-commit-branch": "staging",
        "iceberg.table.db.a.commit-branch": "audit",
        "iceberg.table.db.c.commit-branch": "lost",
    }
    assert iceberg_sink_config(config).commit_branches == {"db.a": "audit", "db.b": "staging"}
    assert parse_iceberg_sink(config).warnings == [
        "iceberg.table.db.c.commit-branch has no effect here: db.c is not in iceberg.tables"
    ]


def test_a_misspelt_key_is_accepted_with_a_hint() -> None:
    parsed = parse_iceberg_sink({**MINIMAL_SINK, "iceberg.tables.evolve-shema-enabled": "true"})
    assert parsed.error_texts() == []
    assert parsed.warnings[0].endswith("did you mean iceberg.tables.evolve-schema-enabled?")


def test_all_errors_are_raised_in_connects_frame_without_secrets() -> None:
    broken = {**SEED_SINK, "tasks.max": "0", "iceberg.tables": ""}
    with pytest.raises(ConfigError) as raised:
        iceberg_sink_config(broken)
    assert str(raised.value) == (
        "Connector configuration is invalid and contains the following 2 error(s):\n"
        "Invalid value 0 for configuration tasks.max: Value must be at least 1\n"
        "Must specify table name(s)\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


@given(
    st.dictionaries(
        st.sampled_from(
            [*SEED_SINK, "errors.tolerance", "consumer.override.fetch.min.bytes", "iceberg.table.a.b.commit-branch"]
        )
        | st.text(),
        st.none() | st.text(),
    )
)
def test_any_configuration_is_answered_with_errors_and_never_with_an_exception(changes: dict[str, str | None]) -> None:
    changes.pop("topics.regex", None)
    parsed = parse_iceberg_sink({**SEED_SINK, **changes})
    assert len(parsed.config_infos()) >= len(parsed.definition.keys)
    assert "topsecret" not in "".join(parsed.error_texts() + parsed.warnings)


@pytest.mark.parametrize(
    "key",
    [
        "tasks.max",
        "errors.tolerance",
        "errors.log.enable",
        "iceberg.catalog.type",
        "iceberg.control.commit.interval-ms",
        "iceberg.tables.evolve-schema-enabled",
        "iceberg.tables.write-props.write.parquet.compression-codec",
        "iceberg.tables.write-props.write.parquet.compression-level",
        "consumer.override.max.poll.records",
        "consumer.override.auto.offset.reset",
        "value.converter",
        "value.converter.schemas.enable",
        "topics",
    ],
)
def test_a_placeholder_may_stand_for_any_value(key: str) -> None:
    assert errors({key: "${file:/etc/s.properties:k}"}) == []


def test_a_placeholder_in_a_pattern_is_not_matched() -> None:
    topics = {"topics": None, "topics.regex": "[${env:X}", "errors.deadletterqueue.topic.name": "x"}
    assert errors({**topics, "errors.tolerance": "all"}) == []


@pytest.mark.parametrize(
    "key",
    [
        "iceberg.catalog.py-io-impl",
        "iceberg.catalog.io-impl",
        "iceberg.catalog.client.factory",
        "iceberg.tables.write-props.write.py-location-provider.impl",
        "iceberg.tables.auto-create-props.write.location-provider.impl",
    ],
)
def test_code_that_a_configuration_names_is_refused(key: str) -> None:
    assert errors({key: "evil.Class"}) == [
        f"Invalid value evil.Class for configuration {key}: It names code to be loaded, which frazil never does"
    ]


def test_the_file_access_that_everybody_names_is_taken() -> None:
    assert errors({"iceberg.catalog.io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}) == []


NAME = "iceberg-sink-apilogs"
BOTH = (f"cg-control-{NAME}", f"connect-{NAME}")


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        ({}, BOTH),
        ({"connector.class": "IcebergSinkConnector"}, BOTH),
        ({"connector.class": "org.apache.iceberg.connect.IcebergSinkConnector"}, BOTH[1:]),
        ({"iceberg.control.group-id": "own"}, ("own", BOTH[1])),
        ({"consumer.override.group.id": "mine"}, (BOTH[0], "mine")),
    ],
)
def test_where_each_generation_has_its_position(keys: dict[str, str], groups: tuple[str, ...]) -> None:
    sink = iceberg_sink_config({**SEED_SINK, "name": NAME, **keys}).connect_sink
    assert (sink.control_topic, sink.groups) == ("control-iceberg", groups)
    assert sink.properties[0] == f"kafka.connect.offsets.control-iceberg.{groups[0]}"
