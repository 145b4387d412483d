"""Keys that are refused, hidden or without effect, and the typed configuration."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.connectors.objects.config.keys import OBJECT_KEYS
from frazil.connectors.objects.config.object_sink import (
    FormatConfig,
    Layout,
    NullValues,
    RotationConfig,
    object_sink_config,
    parse_object_sink,
)
from frazil.connectors.objects.config.partitioner_keys import Partitioning
from frazil.declare.definition import Parsed
from frazil.errors import ConfigError
from frazil.text.joda_dates import JodaPattern
from tests.connectors.samples import MINIMAL_S3_SINK, SEED_S3_SINK

FORMAT = "io.confluent.connect.s3.format."
PARTITIONER = "io.confluent.connect.storage.partitioner."
AVRO, BYTES, PARQUET = (
    f"{FORMAT}avro.AvroFormat",
    f"{FORMAT}bytearray.ByteArrayFormat",
    f"{FORMAT}parquet.ParquetFormat",
)
TIMED = {
    "partitioner.class": f"{PARTITIONER}TimeBasedPartitioner",
    "path.format": "'year'=YYYY",
    "partition.duration.ms": "3600000",
    "locale": "en",
    "timezone": "UTC",
}


def errors(changes: dict[str, str | None]) -> dict[str, list[str]]:
    merged = {**MINIMAL_S3_SINK, **changes}
    return parse_object_sink({key: value for key, value in merged.items() if value is not None}).errors


def warnings(changes: dict[str, str]) -> list[str]:
    return parse_object_sink({**MINIMAL_S3_SINK, **changes}).warnings


def infos(parsed: Parsed) -> dict[str, Any]:
    values: list[Any] = [entry["value"] for entry in parsed.config_infos()]
    return {value["name"]: value for value in values}


def test_the_smallest_configuration_has_nothing_to_say_but_that_its_objects_are_small() -> None:
    assert errors({}) == {}
    assert warnings({"flush.size": "1000"}) == []


def test_a_usual_configuration_is_taken_as_it_stands() -> None:
    config = object_sink_config(SEED_S3_SINK)
    assert config.topics == ("dbz.${POSTGRES_SCHEMA_TO_TRACK}.${POSTGRES_TABLE_TO_TRACK}",)
    assert config.store.bucket == "${S3_BUCKET_NAME}"
    assert config.format == FormatConfig("parquet")
    assert config.rotation == RotationConfig(1, interval_ms=10_000)
    assert config.partitioning == Partitioning("TimeBased", (), "yyyy-MM-dd", "UTC", 3_600_000, "Record", "ts_ms")
    assert config.null_values == NullValues("ignore")
    assert (config.schemas_enable, config.errors_tolerance, config.group_id) == (True, "all", "connect-s3-sink")
    assert (config.keys, config.headers, config.compatibility) == (None, None, "NONE")


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("compression.type", "that of Parquet is parquet.codec"),
        ("behavior.on.malformed.documents", "errors.tolerance=all"),
        ("timestamp.field", "only timestamp.extractor=RecordField reads it (it is Record)"),
        ("flush.size=1", "rotate.interval.ms never counts then"),
        ("topics, s3.region, s3.bucket.name", "${env:NAME}"),
    ],
)
def test_what_does_nothing_in_a_usual_configuration_is_explained_once(key: str, said: str) -> None:
    found = [text for text in parse_object_sink(SEED_S3_SINK).warnings if text.startswith(key)]
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("parquet.codec", "uncompressed", "String must be one of: none, snappy, gzip"),
        ("s3.compression.level", "10", "Value must be in the range -1 to 9"),
        ("s3.compression.level", "-2", "Value must be in the range -1 to 9"),
        ("s3.part.retries", "-1", "Value must be at least 0"),
        ("s3.part.size", "5242879", "Part size must be at least: 5242880 bytes (5MB)"),
        ("s3.part.size", "2147483648", "Not a number of type INT"),
        ("s3.schema.partition.affix.type", "Random", "String must be one of (case insensitive): NONE, PREFIX, SUFFIX"),
        ("s3.compression.type", "zip", "String must be one of: none, gzip"),
        ("behavior.on.null.values", "skip", "String must be one of (case insensitive): IGNORE, FAIL, WRITE"),
        ("format.class", f"{FORMAT}string.StringFormat", "could not be found."),
        ("format.class", "ParquetFromat", f"found. Did you mean {FORMAT}parquet.ParquetFormat?"),
        ("partitioner.class", "x.Y", "Class x.Y could not be found."),
        ("partitioner.class", "TimeBasedPartitoner", "Did you mean io.confluent.connect.storage.partitioner.TimeBased"),
        ("flush.size", "many", "Not a number of type INT"),
        ("timezone", "LLL", "The datetime zone id 'LLL' is not recognised"),
        ("timestamp.extractor", "Clock", "Invalid timestamp extractor: Clock"),
        ("s3.acl.canned", "open", "String must be one of: private"),
        ("parquet.codec", "lzo", "Set lz4_raw"),
        ("s3.object.tagging.key.value.pairs", "a:b,c", "Tags are written key:value; these are not: c"),
        ("filename.offset.zero.pad.width", "-1", "Value must be at least 0"),
    ],
)
def test_values_that_are_refused(key: str, value: str, reason: str) -> None:
    text = errors({key: value})[key][0]
    assert text.startswith(f"Invalid value {value if ',' not in value else '[a:b, c]'} for configuration {key}: ")
    assert reason in text


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("topics.dir", "a/../b", ". or .."),
        ("topics.dir", "a\nb", "control characters"),
        ("topics.dir", "x" * 600, "longer than 512 bytes"),
        ("format.bytearray.extension", "/../x", ". or .."),
        ("path.format", "'..'/YYYY", ". or .."),
        ("consumer.override.bootstrap.servers", "127.0.0.1:1", "the worker's own cluster"),
        ("filename.offset.zero.pad.width", "2147483647", "in the range 0 to 100"),
        ("store.url", "ftp://host", "starts with http:// or https://"),
        ("store.url", "http://[::1", "not a URL"),
        ("s3.proxy.url", "http://user:secret@proxy:1", "holds a user or a password"),
        ("s3.bucket.name", "a bucket", "letters, digits"),
        ("s3.region", "us east", "a name like us-east-1"),
        ("retry.backoff.ms", "9223372036854775807", "in the range 0 to 3600000"),
        ("s3.retry.backoff.ms", "9223372036854775807", "in the range 0 to 3600000"),
    ],
)
def test_what_no_store_can_take_is_refused_without_showing_secrets(key: str, value: str, reason: str) -> None:
    [text] = errors({key: value})[key]
    assert reason in text
    assert "secret" not in text


@pytest.mark.parametrize("class_name", [AVRO, PARQUET])
def test_gzip_is_for_text_and_bytes(class_name: str) -> None:
    found = errors({"format.class": class_name, "s3.compression.type": "gzip"})
    assert found.keys() == {"format.class", "s3.compression.type"}
    assert all(
        f"Compression Type gzip not valid for data format class: ( {class_name} )." in t for (t,) in found.values()
    )


def test_gzip_with_avro_keys() -> None:
    found = errors({"store.kafka.keys": "true", "s3.compression.type": "gzip"})
    assert found.keys() == {"store.kafka.keys", "keys.format.class", "s3.compression.type"}


def test_avro_stores_records_and_texts() -> None:
    assert errors({"format.class": AVRO}) == {}
    assert errors({"store.kafka.keys": "true", "store.kafka.headers": "true"}) == {}
    assert errors({"format.class": AVRO, "value.converter": "org.apache.kafka.connect.storage.StringConverter"}) == {}
    of_bytes: dict[str, str | None] = {
        "format.class": AVRO,
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    }
    (text,) = errors(of_bytes)["value.converter"]
    assert "AvroFormat stores records and texts" in text


def test_a_schedule_needs_a_zone() -> None:
    (text,) = errors({"rotate.schedule.interval.ms": "30"})["timezone"]
    assert "timezone configuration must be set when using rotate.schedule.interval.ms" in text
    assert errors({"rotate.schedule.interval.ms": "30", "timezone": "UTC"}) == {}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Default", set()),
        ("Field", {"partition.field.name"}),
        ("TimeBased", {"partition.duration.ms", "path.format", "locale", "timezone"}),
        ("Daily", {"locale", "timezone"}),
        ("Hourly", {"locale", "timezone"}),
    ],
)
def test_keys_of_other_partitioners_are_hidden(name: str, shown: set[str]) -> None:
    config = {**MINIMAL_S3_SINK, **TIMED, "partition.field.name": "f"}
    parsed = parse_object_sink({**config, "partitioner.class": f"{PARTITIONER}{name}Partitioner"})
    keys = {"partition.field.name", "partition.duration.ms", "path.format", "locale", "timezone"}
    values: list[Any] = [info["value"] for info in parsed.config_infos()]
    assert {value["name"] for value in values if value["name"] in keys and value["visible"]} == shown
    assert all(value["visible"] for value in values if value["name"] not in keys)


def test_what_is_missing() -> None:
    found = parse_object_sink({"connector.class": "S3SinkConnector", "topics": "t"})
    missing = {"flush.size", "format.class", "s3.bucket.name", "storage.class", "name"}
    assert found.errors.keys() == missing
    by_name = infos(found)
    assert len(by_name["format.class"]["recommended_values"]) == 4
    assert len(by_name["partitioner.class"]["recommended_values"]) == 5


def test_a_key_that_is_none_has_no_entry() -> None:
    found = parse_object_sink({**MINIMAL_S3_SINK, "compression.type": "gzip"})
    assert found.errors == {}
    assert "compression.type" not in infos(found)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("path.format", "year='YYYY'/month='MM'", "Illegal pattern component: r"),
        ("path.format", "", "Path format cannot be empty."),
        ("path.format", "/", "Path format cannot be empty."),
        ("path.format", None, "Path format cannot be empty."),
        ("locale", "", "Locale cannot be empty."),
        ("timezone", "", "Timezone cannot be empty."),
        ("partition.duration.ms", "-1", "Partition duration needs to be a positive."),
        ("partition.duration.ms", "0", "Partition duration needs to be a positive."),
        ("partition.duration.ms", None, "Partition duration needs to be a positive."),
        ("timezone", "LLL", "The datetime zone id 'LLL' is not recognised"),
    ],
)
def test_partitioners_by_time(key: str, value: str | None, reason: str) -> None:
    found = errors({**TIMED, key: value})
    assert found.keys() == {key}
    assert any(reason in text for text in found[key])


def test_other_languages_have_no_names() -> None:
    assert errors({**TIMED, "path.format": "MMM", "locale": "de_DE"}).keys() == {"locale"}
    assert errors({**TIMED, "path.format": "MMM", "locale": "en-US"}) == {}
    assert errors({**TIMED, "path.format": "MM", "locale": "de"}) == {}


def test_a_trailing_delimiter_is_no_folder() -> None:
    config = object_sink_config({**MINIMAL_S3_SINK, **TIMED, "path.format": "'year='YYYY/"})
    assert config.partitioning.pattern == "'year='YYYY"


@pytest.mark.parametrize(
    ("name", "delimiter", "path", "duration"),
    [
        ("Daily", "/", "year=1970/month=01/day=01", 86_400_000),
        ("Hourly", "/", "year=1970/month=01/day=01/hour=00", 3_600_000),
        ("Daily", "|", "year=1970|month=01|day=01", 86_400_000),
        ("Daily", "_x'", "year=1970_x'month=01_x'day=01", 86_400_000),
    ],
)
def test_daily_and_hourly_have_their_own_pattern(name: str, delimiter: str, path: str, duration: int) -> None:
    changes = {**TIMED, "partitioner.class": f"{PARTITIONER}{name}Partitioner", "directory.delim": delimiter}
    found = object_sink_config({**MINIMAL_S3_SINK, **changes}).partitioning
    assert JodaPattern(found.pattern).format(0, found.zone) == path
    assert (found.duration_ms, found.extractor) == (duration, "Wallclock")


@pytest.mark.parametrize("names", ["a..b", ".field", "a.   .b", "a,b."])
def test_empty_segments_of_field_names_are_refused(names: str) -> None:
    changes: dict[str, str | None] = {
        "partitioner.class": f"{PARTITIONER}FieldPartitioner",
        "partition.field.name": names,
    }
    (text,) = errors(changes)["partition.field.name"]
    assert "Field names may not have empty segments" in text


@pytest.mark.parametrize("names", ["", " , "])
def test_field_partitioner_needs_fields(names: str) -> None:
    changes: dict[str, str | None] = {
        "partitioner.class": f"{PARTITIONER}FieldPartitioner",
        "partition.field.name": names,
    }
    found = errors(changes)
    assert "cannot be null or empty when using FieldPartitioner." in found["partition.field.name"][-1]


def test_tombstones_are_stored_by_their_keys() -> None:
    assert errors({"behavior.on.null.values": "write"}).keys() == {"store.kafka.keys", "behavior.on.null.values"}
    good = {"store.kafka.keys": "true", "keys.format.class": f"{FORMAT}json.JsonFormat"}
    assert errors({"behavior.on.null.values": "WRITE", **good}) == {}


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"s3.wan.mode": "true"}, {"s3.wan.mode", "s3.path.style.access.enabled"}),
        ({"aws.access.key.id": "A"}, {"aws.secret.access.key"}),
        ({"aws.secret.access.key": "A"}, {"aws.access.key.id"}),
        (
            {"value.converter": "io.confluent.connect.protobuf.ProtobufConverter"},
            {"value.converter.schema.registry.url"},
        ),
        (
            {"value.converter": "io.confluent.connect.avro.AvroConverter"},
            {"value.converter.schema.registry.url"},
        ),
        (
            {"key.converter": "io.confluent.connect.avro.AvroConverter", "store.kafka.keys": "true"},
            {"key.converter.schema.registry.url"},
        ),
        ({"value.converter": "StringConverter", "format.class": PARQUET}, {"value.converter"}),
        ({"store.kafka.headers": "true", "headers.format.class": BYTES}, {"headers.format.class"}),
    ],
)
def test_rules_between_keys(changes: dict[str, str | None], keys: set[str]) -> None:
    assert errors(changes).keys() == keys


def test_keys_that_transformations_change_are_no_bytes() -> None:
    changed: dict[str, str | None] = {
        "store.kafka.keys": "true",
        "keys.format.class": f"{FORMAT}json.JsonFormat",
        "transforms": "k",
        "transforms.k.type": "org.apache.kafka.connect.transforms.ValueToKey",
        "transforms.k.fields": "id",
    }
    assert errors(changed) == {}
    name = "org.apache.kafka.connect.converters.ByteArrayConverter"
    assert errors(changed | {"keys.format.class": BYTES}).keys() == {"keys.format.class"}
    found = errors(changed | {"key.converter": name})
    assert "transformations that change keys (k)" in str(found["key.converter"])


def test_secrets_are_in_no_representation() -> None:
    config = object_sink_config(
        {
            **MINIMAL_S3_SINK,
            "aws.access.key.id": "AK",
            "aws.secret.access.key": "topsecret",
            "s3.sse.customer.key": "topsecret",
            "s3.proxy.url": "proxy:3128",
            "s3.proxy.user": "me",
            "s3.proxy.password": "top:secret@",
        }
    )
    assert config.store.proxy == "http://me:top%3Asecret%40@proxy:3128"
    assert "topsecret" not in repr(config)
    assert "top%3A" not in repr(config)


def test_typed_results() -> None:
    config = object_sink_config(
        {
            **MINIMAL_S3_SINK,
            "format.class": BYTES,
            "value.converter": "ByteArrayConverter",
            "format.bytearray.separator": "  ",
            "format.bytearray.extension": ".x",
            "s3.compression.type": "gzip",
            "topics.dir": "",
            "directory.delim": "|",
            "file.delim": "-",
            "filename.offset.zero.pad.width": "2",
            "store.url": "localhost:9000",
            "flush.size": "-5",
            "frazil.rotate.bytes": "1000",
            "partitioner.max.open.files": "5",
            "s3.object.tagging.key.value.pairs": "team:a b, x:",
            "schema.compatibility": "backward",
        }
    )
    assert config.format == FormatConfig("bytes", -1, "snappy", ".x", b"  ")
    assert config.layout == Layout("", "|", "-", 2)
    assert config.store.endpoint == "https://localhost:9000"
    assert config.store.tags == (("team", "a b"), ("x", ""))
    assert config.rotation == RotationConfig(1, max_open_files=5, max_bytes=1000)
    assert (config.value_converter.rpartition(".")[2], config.compatibility) == ("ByteArrayConverter", "NONE")


def test_errors_are_raised_together() -> None:
    with pytest.raises(ConfigError, match=r"contains the following 2 error\(s\)"):
        object_sink_config({**MINIMAL_S3_SINK, "flush.size": "x", "s3.part.size": "1"})


def test_every_key_has_a_sentence() -> None:
    assert [key.name for key in OBJECT_KEYS if not key.documentation.endswith(".")] == []


@pytest.mark.parametrize("base", [MINIMAL_S3_SINK, SEED_S3_SINK, {**MINIMAL_S3_SINK, **TIMED}])
def test_values_that_are_known_when_the_connector_starts_are_not_refused(base: dict[str, str]) -> None:
    for key in OBJECT_KEYS:
        if not key.is_family and not key.name.startswith("aws."):  # these are set as a pair
            assert parse_object_sink({**base, key.name: "${env:X}"}).errors == {}, key.name
