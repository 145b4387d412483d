from __future__ import annotations

from typing import Any

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config, parse_iceberg_sink
from frazil.declare.converters import STRING_CONVERTER
from frazil.pipeline.transforms.declaration import PredicateConfig, TransformConfig
from tests.connectors.samples import MINIMAL_SINK

KAFKA = "org.apache.kafka.connect.transforms."
ICEBERG = "org.apache.iceberg.connect.transforms."


def config(**more: str) -> dict[str, str]:
    """A sink with one transformation, `a`; `__` is a dot."""
    return {**MINIMAL_SINK, "transforms": "a", **{key.replace("__", "."): value for key, value in more.items()}}


def step(class_name: str, **keys: str) -> dict[str, str]:
    named = {f"transforms.a.{key.replace('__', '.')}": value for key, value in keys.items()}
    return config() | {"transforms.a.type": class_name} | named


def errors(found: dict[str, str]) -> list[str]:
    return parse_iceberg_sink(found).error_texts()


def warnings(found: dict[str, str]) -> list[str]:
    return parse_iceberg_sink(found).warnings


def test_the_typed_result() -> None:
    found = step(KAFKA + "MaskField$Value", fields="x, y", predicate="p", negate="true")
    found |= {"predicates": "p", "predicates.p.type": KAFKA + "predicates.HasHeaderKey", "predicates.p.name": "h"}

    transforms = iceberg_sink_config(found).transforms

    assert transforms is not None
    assert transforms.steps == (
        TransformConfig(
            "a",
            KAFKA + "MaskField$Value",
            "MaskField",
            "value",
            (("fields", ("x", "y")), ("replacement", None), ("replace.null.with.default", True)),
            PredicateConfig("HasHeaderKey", (("name", "h"),)),
            negate=True,
        ),
    )
    assert (transforms.reads_headers, transforms.reads_keys) == (True, False)
    assert transforms.key.class_name == STRING_CONVERTER
    assert hash(transforms) == hash(iceberg_sink_config(found).transforms)


def test_without_transformations_there_is_no_chain() -> None:
    assert iceberg_sink_config(MINIMAL_SINK).transforms is None
    assert iceberg_sink_config(MINIMAL_SINK | {"transforms": " "}).transforms is None


@pytest.mark.parametrize("name", ["RegexRouter", KAFKA + "RegexRouter"])
def test_class_names_and_their_last_part(name: str) -> None:
    transforms = iceberg_sink_config(step(name, regex="a", replacement="b")).transforms
    assert transforms is not None and transforms.steps[0].class_name == KAFKA + "RegexRouter"


def test_both_generations_of_the_sink() -> None:
    for package in (ICEBERG, "io.tabular.iceberg.connect.transforms."):
        transforms = iceberg_sink_config(step(package + "DmsTransform")).transforms
        assert transforms is not None and transforms.steps[0].class_name == package + "DmsTransform"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, 'Missing required configuration "transforms.a.type" which has no default value.'),
        (
            {"type": "org.example.X"},
            "Invalid value org.example.X for configuration transforms.a.type: Class org.example.X could not be found.",
        ),
        (
            {"type": "ReplaceFields$Value", "renames": "a:b"},
            "Invalid value ReplaceFields$Value for configuration transforms.a.type: Class ReplaceFields$Value could "
            f"not be found. Did you mean {KAFKA}ReplaceField$Value?",
        ),
        (
            {"type": KAFKA + "Cast"},
            f"Invalid value {KAFKA}Cast for configuration transforms.a.type: This class is abstract and cannot be "
            f"created. Did you mean {KAFKA}Cast$Key or {KAFKA}Cast$Value?",
        ),
        (
            {"type": "HasHeaderKey"},
            "Invalid value HasHeaderKey for configuration transforms.a.type: Not a Transformation",
        ),
        (
            {"type": "MaskField$Value"},
            'Missing required configuration "transforms.a.fields" which has no default value.',
        ),
        (
            {"type": "MaskField$Value", "fields": ""},
            "Configuration 'transforms.a.fields' must not be empty. Valid values include: any non-empty value",
        ),
        (
            {"type": "MaskField$Value", "fields": "x", "replacement": ""},
            "Invalid value  for configuration transforms.a.replacement: String must be non-empty",
        ),
        ({"type": "Cast$Value", "spec": ""}, "Must specify at least one field to cast."),
        (
            {"type": "Cast$Value", "spec": "a:foo"},
            "Invalid value [a:foo] for configuration transforms.a.spec: Invalid type found in casting spec: foo; "
            "valid types are int8, int16, int32, int64, float32, float64, boolean, string",
        ),
        (
            {"type": "Cast$Value", "spec": "a:b:c"},
            "Invalid value [a:b:c] for configuration transforms.a.spec: Invalid rename mapping: a:b:c",
        ),
        (
            {"type": "Cast$Value", "spec": "a:bytes"},
            "Cast transformation does not support casting to BYTES; supported types are [INT8, INT16, INT32, INT64, "
            "FLOAT32, FLOAT64, BOOLEAN, STRING]",
        ),
        (
            {"type": "Cast$Value", "spec": "int8,a:int8"},
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec",
        ),
        (
            {"type": "ExtractField$Value", "field": "`a.b", "field.syntax.version": "V2"},
            "Incomplete backtick pair in path: [`a.b], consider adding a backslash before backtick at position 0 to "
            "escape it",
        ),
        (
            {"type": "ExtractField$Value", "field": "a", "field.syntax.version": "V3"},
            "Invalid value V3 for configuration transforms.a.field.syntax.version: String must be one of (case "
            "insensitive): V1, V2",
        ),
        (
            {"type": "HeaderFrom$Value", "fields": "a,b", "headers": "h", "operation": "move"},
            "'fields' config must have the same number of elements as 'headers' config.",
        ),
        (
            {"type": "HeaderFrom$Value", "fields": "a", "headers": "h", "operation": "x"},
            "Invalid value x for configuration transforms.a.operation: String must be one of: move, copy",
        ),
        ({"type": "InsertField$Value"}, "No field insertion configured"),
        (
            {"type": "InsertField$Value", "static.field": "a"},
            "Invalid value null for configuration transforms.a.static.value: No value specified for static field: a",
        ),
        (
            {"type": "ReplaceField$Value", "renames": "a"},
            "Invalid value [a] for configuration transforms.a.renames: Invalid rename mapping: a",
        ),
        (
            {"type": "RegexRouter", "regex": "(a)", "replacement": "$2"},
            "Invalid value $2 for configuration transforms.a.replacement: No group 2",
        ),
        ({"type": "SetSchemaMetadata$Value"}, "Neither schema name nor version configured"),
        (
            {"type": "TimestampConverter$Value", "target.type": "string"},
            "TimestampConverter requires format option to be specified when using string timestamps",
        ),
        (
            {"type": "TimestampConverter$Value", "target.type": "string", "format": "bb"},
            "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: bb (Illegal "
            "pattern character 'b')",
        ),
        (
            {"type": "TimestampConverter$Value", "target.type": "x"},
            "Invalid value x for configuration transforms.a.target.type: String must be one of: string, unix, Date, "
            "Time, Timestamp",
        ),
        (
            {"type": "TimestampRouter", "timestamp.format": "bb"},
            "Invalid value bb for configuration transforms.a.timestamp.format: Illegal pattern character 'b'",
        ),
        (
            {"type": "Filter", "negate": "true"},
            "Config 'transforms.a.negate' was provided but there is no config 'transforms.a.predicate' defining a "
            "predicate to be negated.",
        ),
        (
            {"type": "Filter", "predicate": "p"},
            "Invalid value p for configuration transforms.a.predicate: Not an alias in predicates (there are: none)",
        ),
        (
            {"type": ICEBERG + "KafkaMetadataTransform", "external_field": "external,*,,,value"},
            "Could not parse external,*,,,value for external_field",
        ),
    ],
)
def test_errors_have_connects_texts(keys: dict[str, str], expected: str) -> None:
    assert errors(config() | {f"transforms.a.{key}": value for key, value in keys.items()}) == [expected]


def test_a_regular_expression_that_does_not_compile_is_one_error() -> None:
    (text,) = errors(step("RegexRouter", regex="[", replacement="x"))
    assert text.startswith("Invalid value [ for configuration transforms.a.regex: Invalid regex: ")


def test_what_is_not_supported_is_refused_with_what_to_set_instead() -> None:
    (text,) = errors(step(ICEBERG + "MongoDebeziumTransform"))
    assert "Not supported. Set frazil.cdc.format=mongo" in text


def test_predicates_are_checked_too() -> None:
    base = step("Filter", predicate="p") | {"predicates": "p"}

    assert errors(base) == ['Missing required configuration "predicates.p.type" which has no default value.']
    assert errors(base | {"predicates.p.type": "HasHeaderKey", "predicates.p.name": ""}) == [
        "Invalid value  for configuration predicates.p.name: String must be non-empty"
    ]
    assert errors(base | {"predicates.p.type": "Filter"}) == [
        "Invalid value Filter for configuration predicates.p.type: Not a Predicate"
    ]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            {"transforms.a.feilds": "y"},
            "transforms.a.feilds is not a key of this connector and has no effect; did you mean transforms.a.fields?",
        ),
        (
            {"transforms.a.replace.null.with.default": "false"},
            "transforms.a.replace.null.with.default has no effect here: a null stays null where its field "
            "has a default value too",
        ),
        (
            {"predicates": "p", "predicates.p.type": "RecordIsTombstone"},
            "predicates.p has no effect here: no transformation asks it",
        ),
    ],
)
def test_keys_that_do_nothing_give_a_warning(more: dict[str, str], expected: str) -> None:
    found = step("MaskField$Value", fields="x") | more

    assert errors(found) == []
    assert expected in warnings(found)


def test_keys_of_no_alias_give_a_warning() -> None:
    found = MINIMAL_SINK | {"transforms.a.type": "Filter"}
    assert "transforms.a.type has no effect here: transforms is not set" in warnings(found)


def test_exclude_wins_over_include() -> None:
    found = step("ReplaceField$Value", include="x,y", exclude="y,z")

    assert errors(found) == []
    assert "transforms.a.include names y, which transforms.a.exclude leaves out: exclude wins" in warnings(found)


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ({}, 0),
        ({"key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}, 1),
        ({"key.converter": "JsonConverter"}, 0),
        ({"key.converter": "io.confluent.connect.avro.AvroConverter"}, 1),
        ({"key.converter": "JsonConverter", "key.converter.schemas.enable": "false"}, 0),
    ],
)
def test_keys_have_to_be_readable_where_they_are_read(more: dict[str, str], count: int) -> None:
    assert len(errors(step("HoistField$Key", field="id") | more)) == count
    assert errors(step("HoistField$Value", field="id") | more) == []


def test_a_converter_of_keys_that_are_read_has_an_effect() -> None:
    more = {"key.converter": "JsonConverter", "key.converter.schemas.enable": "false"}

    assert not any("key.converter" in text for text in warnings(step("HoistField$Key", field="id") | more))
    assert any("key.converter" in text for text in warnings(step("HoistField$Value", field="id") | more))


@pytest.mark.parametrize(
    ("name", "keys", "accepted"),
    [
        (ICEBERG + "JsonToMapTransform", {}, True),
        ("HoistField$Value", {"field": "line"}, True),
        ("HoistField$Key", {"field": "line"}, False),
        ("MaskField$Value", {"fields": "x"}, False),
    ],
)
def test_texts_are_accepted_where_objects_are_made_of_them(name: str, keys: dict[str, str], accepted: bool) -> None:
    found = step(name, **keys) | {"value.converter": STRING_CONVERTER}

    assert (errors(found) == []) is accepted


def test_validation_lists_the_keys_of_each_alias() -> None:
    found = step("Filter", predicate="p") | {"predicates": "p", "predicates.p.type": "TopicNameMatches"}
    found["predicates.p.pattern"] = "t"
    infos: list[dict[str, Any]] = parse_iceberg_sink(found).config_infos()

    listed = {info["value"]["name"]: info["definition"] for info in infos}
    own = [name for name in listed if name.startswith(("transforms.", "predicates."))]
    assert own == [
        *("transforms.a.type", "transforms.a.plugin.version", "transforms.a.negate", "transforms.a.predicate"),
        *("predicates.p.type", "predicates.p.plugin.version", "predicates.p.pattern"),
    ]
    assert listed["transforms.a.type"]["group"] == "Transforms: a"
    assert listed["transforms.a.type"]["order_in_group"] == 1
    assert listed["predicates.p.pattern"]["display_name"] == "pattern"
