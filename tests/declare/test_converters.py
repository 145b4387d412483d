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
from frazil.declare.definition import REQUIRED, Parsed
from frazil.pipeline.envelope import Envelope, JsonEnvelope
from frazil.pipeline.schemas.connect import ConnectOptions, ProtobufOptions
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.schemas.wire import Framing
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
        (STRING_CONVERTER, "its bytes have no columns. Values are read as JSON, Avro or Protobuf"),
        (STRING_CONVERTER, "or make columns of the text with JsonToMapTransform"),
        ("org.apache.kafka.connect.converters.ByteArrayConverter", "its bytes have no columns"),
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
    assert errors(value__converter="JsonConvertor") == [
        "Invalid value JsonConvertor for configuration value.converter: Class JsonConvertor could not be found. Did "
        f"you mean {JSON_CONVERTER}?"
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
        "value.converter.schema.content",
        "value.converter.decimal.format",
        "value.converter.replace.null.with.default",
    }


CONTENT = "value.converter.schema.content"


def test_a_schema_for_all_records_is_that_of_an_object_or_refused() -> None:
    def parsed(content: str, **changes: str) -> Parsed:
        config = {**MINIMAL_SINK, "value.converter": JSON_CONVERTER, CONTENT: content}
        return parse_iceberg_sink(config | {k.replace("__", "."): v for k, v in changes.items()})

    def envelope(content: str) -> Envelope | None:
        return iceberg_sink_config({**MINIMAL_SINK, "value.converter": JSON_CONVERTER, CONTENT: content}).envelope

    good = ' {"type":"struct","fields":[{"field":"n","type":"int64"}]} '
    assert (envelope(good), envelope(" ")) == (JsonEnvelope(good.strip().encode()), JsonEnvelope())
    nulls = {"value.converter.replace.null.with.default": "false"}
    kept = iceberg_sink_config({**MINIMAL_SINK, "value.converter": JSON_CONVERTER, **nulls}).envelope
    assert kept == JsonEnvelope(defaults=False)
    for content, reason in (
        ("{", "Not a schema as JsonConverter writes it: "),
        ('{"type":"nope"}', "there is no type nope"),
        ('{"type":"int64"}', "Its type has to be struct"),
    ):
        (text,) = parsed(content).error_texts()
        assert text.startswith(f"Invalid value {content} for configuration {CONTENT}: ") and reason in text
    without = parsed("{", value__converter__schemas__enable="false")
    assert without.error_texts() == []
    assert f"{CONTENT} has no effect here: value.converter.schemas.enable is false" in without.warnings


def test_texts_are_read_as_utf8_or_refused() -> None:
    texts = {"key__converter": STRING_CONVERTER, "key__converter__converter__encoding": "ISO-8859-1"}
    assert errors(**texts) == []  # keys are not read
    values = {
        "value__converter": STRING_CONVERTER,
        "transforms": "j",
        "transforms__j__type": "org.apache.iceberg.connect.transforms.JsonToMapTransform",
    }
    assert errors(**values, value__converter__converter__encoding="utf8") == []
    (text,) = errors(**values, value__converter__converter__encoding="ISO-8859-1")
    assert text.endswith("value.converter.converter.encoding: Not supported. Texts are read as UTF-8")


AVRO = "io.confluent.connect.avro.AvroConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"
URL = {"value__converter__schema__registry__url": "http://a:1"}


def test_a_registry_converter_has_its_keys_and_needs_an_address() -> None:
    assert errors(value__converter=AVRO, **URL) == []
    assert errors(value__converter="Avro", **URL) == []
    assert errors(value__converter=AVRO) == [
        'Missing required configuration "value.converter.schema.registry.url" which has no default value.'
    ]
    assert errors(value__converter=APICURIO) == [
        'Missing required configuration "value.converter.apicurio.registry.url" which has no default value.'
    ]
    assert errors(key__converter=AVRO) == []  # keys are not read


def test_the_converter_of_protobuf_has_keys_of_its_own() -> None:
    name = "io.confluent.connect.protobuf.ProtobufConverter"
    more = {"value.converter.wrapper.for.nullables": "true", "value.converter.optional.for.proto2": "false"}
    config = MINIMAL_SINK | {"value.converter": name, "value.converter.schema.registry.url": "http://a:1"} | more
    found = iceberg_sink_config(config).envelope
    assert isinstance(found, RegistryConverter)
    assert (found.type, found.framing) == ("PROTOBUF", Framing(messages=True))
    assert found.options == ProtobufOptions(wrapper_for_nullables=True, optional_for_proto2=False)


def test_protobuf_without_its_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "io.confluent.connect.protobuf.ProtobufConverter"
    monkeypatch.setattr("frazil.connectors.keys.framework.find_spec", lambda package: None)
    (text,) = errors(value__converter=name, **URL)
    assert "pip install 'frazil[protobuf]'" in text
    assert errors(key__converter=name) == []  # keys are not read


def test_the_converter_of_json_schemas_has_keys_of_its_own() -> None:
    name = "io.confluent.connect.json.JsonSchemaConverter"
    assert errors(value__converter=name, **URL) == []
    (text,) = errors(value__converter=name, **URL, value__converter__json__fail__invalid__schema="true")
    assert text.endswith("value.converter.json.fail.invalid.schema: Not supported. Leave it out")
    found = iceberg_sink_config(
        MINIMAL_SINK | {"value.converter": name, "value.converter.schema.registry.url": "http://a:1"}
    ).envelope
    assert isinstance(found, RegistryConverter)
    assert (found.type, found.options) == ("JSON", ConnectOptions(meta_data=False))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("use__latest__with__metadata", "version=1"),
        ("schema__backup__enabled", "true"),
        ("basic__auth__credentials__source", "SASL_INHERIT"),
        ("bearer__auth__credentials__source", "SASL_OAUTHBEARER_INHERIT"),
        ("bearer__auth__custom__provider__class", "my.Own"),
        ("value__subject__name__strategy", "my.Own"),
        ("http__read__timeout__ms", "0"),
    ],
)
def test_options_of_a_registry_converter_that_would_read_otherwise_are_refused(name: str, value: str) -> None:
    (text,) = errors(value__converter=AVRO, **URL, **{f"value__converter__{name}": value})
    assert text.startswith(f"Invalid value {value} for configuration value.converter.{name.replace('__', '.')}: ")


@pytest.mark.parametrize(
    ("source", "way", "needed"),
    [
        ("basic", "USER_INFO", ["basic.auth.user.info"]),
        ("bearer", "STATIC_TOKEN", ["bearer.auth.token"]),
        ("bearer", "OAUTHBEARER", [f"bearer.auth.{n}" for n in ("issuer.endpoint.url", "client.id", "client.secret")]),
    ],
)
def test_a_login_without_its_keys_is_refused(source: str, way: str, needed: list[str]) -> None:
    keys = {f"value__converter__{source}__auth__credentials__source": way}
    names = [f"value.converter.{name}" for name in needed]
    assert errors(value__converter=AVRO, **URL, **keys) == [
        f'Missing required configuration "{name}", which {way} needs.' for name in names
    ]
    assert errors(value__converter=AVRO, **URL, **keys, **dict.fromkeys(names, "x")) == []


def test_options_of_a_registry_converter_make_the_converter() -> None:
    def made(**changes: str) -> RegistryConverter:
        config = {**MINIMAL_SINK, **{k.replace("__", "."): v for k, v in changes.items()}}
        found = iceberg_sink_config(config).envelope
        assert isinstance(found, RegistryConverter)
        return found

    plain = made(value__converter=AVRO, **URL)
    assert (plain.type, plain.access.urls, plain.framing, plain.subject) == (
        "AVRO",
        ("http://a:1",),
        Framing(),
        "topic",
    )
    own = made(
        value__converter=AVRO,
        **URL,
        value__converter__enhanced__avro__schema__support="true",
        value__converter__value__subject__name__strategy=(
            "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
        ),
        value__converter__http__read__timeout__ms="1500",
        value__converter__use__latest__version="true",
        **{"value__converter__request__header__X-Tenant": "a"},
        value__converter__basic__auth__credentials__source="USER_INFO",
        value__converter__basic__auth__user__info="me:secret",
    )
    assert (own.options.full_names, own.subject, own.latest) == (True, "topic-record", True)
    assert (own.access.headers, plain.latest) == ((("X-Tenant", "a"),), False)
    assert (own.access.read_timeout, own.access.user, own.access.password) == (1.5, "me", "secret")
    apicurio = made(
        value__converter=APICURIO,
        value__converter__apicurio__registry__url="http://a:1",
        **{
            "value__converter__apicurio__registry__id-handler": "io.apicurio.registry.serde.Legacy8ByteIdHandler",
            "value__converter__apicurio__registry__use-id": "globalId",
        },
    )
    assert apicurio.framing == Framing("value", "globalId", 8, apicurio=True)
    assert apicurio.access.urls == ("http://a:1/apis/registry/v3",)
    json = made(
        value__converter="ExtJson",
        value__converter__apicurio__registry__url="http://a:1",
        **{"value__converter__apicurio__registry__use-id": "globalId"},
    )
    assert (json.type, json.framing) == ("KCONNECT", Framing("value", "globalId", json=True))


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
