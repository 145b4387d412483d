from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config, parse_iceberg_sink
from frazil.declare.converters import (
    JSON_CONVERTER,
    SIMPLE_HEADER_CONVERTER,
    STRING_CONVERTER,
    converter_class,
    converter_definition,
)
from frazil.declare.definition import REQUIRED
from tests.connectors.samples import MINIMAL_SINK


def errors(**changes: str) -> list[str]:
    return parse_iceberg_sink({**MINIMAL_SINK, **{k.replace("__", "."): v for k, v in changes.items()}}).error_texts()


@pytest.mark.parametrize("name", [JSON_CONVERTER, "JsonConverter", "Json"])
def test_aliases(name: str) -> None:
    assert converter_class(name) == JSON_CONVERTER


def test_the_workers_converter_reads_json_without_envelope() -> None:
    assert errors() == []


def test_a_json_converter_of_the_connector_has_the_envelope_unless_told_otherwise() -> None:
    def enabled(**changes: str) -> bool:
        config = MINIMAL_SINK | {k.replace("__", "."): v for k, v in changes.items()}
        return iceberg_sink_config(config).schemas_enable

    assert enabled(value__converter=JSON_CONVERTER)
    assert not enabled(value__converter=JSON_CONVERTER, value__converter__schemas__enable="false")
    assert not enabled(value__converter__schemas__enable="true")  # an option of a converter that is not set


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (STRING_CONVERTER, "its bytes have no columns. Values are read as JSON"),
        (STRING_CONVERTER, "or make columns of the text with JsonToMapTransform"),
        ("org.apache.kafka.connect.converters.ByteArrayConverter", "its bytes have no columns"),
        ("io.confluent.connect.avro.AvroConverter", "it needs a schema registry"),
        ("io.confluent.connect.protobuf.ProtobufConverter", "it needs a schema registry"),
    ],
)
def test_other_value_converters_are_refused(name: str, reason: str) -> None:
    (text,) = errors(value__converter=name)
    assert text.startswith(f"Invalid value {name} for configuration value.converter: Not supported, for ")
    assert reason in text
    assert f"set value.converter to {JSON_CONVERTER}" in text


def test_classes_that_do_not_exist() -> None:
    assert errors(value__converter="a.B") == [
        "Invalid value a.B for configuration value.converter: Class a.B could not be found."
    ]


def test_a_header_converter_must_be_one() -> None:
    name = "io.confluent.connect.avro.AvroConverter"
    assert errors(header__converter=name) == [f"Class class {name} does not implement the HeaderConverter interface"]


def test_a_converter_that_is_set_adds_its_keys() -> None:
    def names(**changes: str) -> set[str]:
        config = {**MINIMAL_SINK, **{k.replace("__", "."): v for k, v in changes.items()}}
        return {name for name in parse_iceberg_sink(config).definition.keys if name.startswith("value.converter.")}

    assert names() == {"value.converter.plugin.version"}
    assert names(value__converter="Json") == {
        "value.converter.plugin.version",
        "value.converter.converter.type",
        "value.converter.schemas.enable",
        "value.converter.schemas.cache.size",
        "value.converter.decimal.format",
        "value.converter.replace.null.with.default",
    }


def test_decimal_format_is_checked_in_any_case() -> None:
    base = {"value__converter": "Json", "value__converter__schemas__enable": "false"}
    assert errors(**base, value__converter__decimal__format="numeric") == []
    assert len(errors(**base, value__converter__decimal__format="HEX")) == 1


def test_a_converter_by_itself_has_keys_without_prefix() -> None:
    keys = converter_definition(JSON_CONVERTER).keys
    assert list(keys)[0] == "converter.type"
    assert keys["converter.type"].default is REQUIRED
    assert keys["schemas.enable"].default is True
    assert list(converter_definition(SIMPLE_HEADER_CONVERTER).keys) == []
