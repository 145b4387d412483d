from __future__ import annotations

import pytest

from frazil.pipeline.transforms.record import StageError
from tests.pipeline.transforms.chains import ICEBERG, TABULAR, after, applied, chain, text

BIG = b'{"a":0.12345678901234567890123,"b":123456789012345678901234567890,"c":{"d":1.50,"e":[1e2, 2]},"f":"\\u00e9"}'
METADATA = {"topic.field": "t", "partition.field": "p!", "offset.field": "o?", "timestamp.field": "ts"}


@pytest.mark.parametrize(
    ("keys", "value", "expected"),
    [
        ({"exclude": "b"}, b'{"a":1,"b":2}', b'{"a":1}'),
        ({"include": "a,b"}, b'{"a":1,"b":2,"c":3}', b'{"a":1,"b":2}'),
        ({"include": "a,b", "exclude": "b", "renames": "a:z"}, b'{"a":1,"b":2,"c":3}', b'{"z":1}'),
        ({"renames": "a:b,b:a"}, b'{"a":1,"b":2}', b'{"b":1,"a":2}'),
        ({"exclude": "x"}, b' {"a" : 1.50} ', b'{"a":1.50}'),
        ({"exclude": "x"}, None, None),
        ({"exclude": "x"}, b"null", None),
    ],
)
def test_replace_field(keys: dict[str, str], value: bytes | None, expected: bytes | None) -> None:
    assert after(("ReplaceField$Value", keys), value) == expected


def test_what_is_not_touched_keeps_its_source_text() -> None:
    step = ("ReplaceField$Value", {"renames": "x:y"})

    assert after(step, BIG) == BIG.replace(b"\\u00e9", b"\\u00e9")


@pytest.mark.parametrize(
    ("keys", "value", "expected"),
    [
        ({"field": "a"}, b'{"a":{"b":1.0}}', b'{"b":1.0}'),
        ({"field": "a"}, b'{"b":1}', None),
        ({"field": "a"}, None, None),
        ({"field": "a.b"}, b'{"a.b":5}', b"5"),
        ({"field": "a.b", "field.syntax.version": "V2"}, b'{"a":{"b":5}}', b"5"),
        ({"field": "`a.b`.c", "field.syntax.version": "v2"}, b'{"a.b":{"c":5}}', b"5"),
        ({"field": "a.b.c", "field.syntax.version": "V2"}, b'{"a":null}', None),
    ],
)
def test_extract_field(keys: dict[str, str], value: bytes | None, expected: bytes | None) -> None:
    assert after(("ExtractField$Value", keys), value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"5", b'{"x":5}'), (b"[1, 2]", b'{"x":[1, 2]}'), (None, b'{"x":null}'), (b'{"a":1}', b'{"x":{"a":1}}')],
)
def test_hoist_field(value: bytes | None, expected: bytes) -> None:
    assert after(("HoistField$Value", {"field": "x"}), value) == expected


def test_insert_field() -> None:
    keys = {**METADATA, "static.field": "s", "static.value": '5"'}

    value = after(("InsertField$Value", keys), b'{"a":1}', topic="ä")

    assert value == '{"a":1,"t":"ä","p":3,"o":42,"ts":1700000000123,"s":"5\\""}'.encode()
    assert after(("InsertField$Value", keys), None) is None


def test_insert_field_replaces_a_field_of_the_name() -> None:
    assert after(("InsertField$Value", {"offset.field": "a"}), b'{"a":1,"b":2}') == b'{"a":42,"b":2}'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"a":1.5}', b'{"a":0.0}'),
        (b'{"a":1}', b'{"a":0}'),
        (b'{"a":"x"}', b'{"a":""}'),
        (b'{"a":true}', b'{"a":false}'),
        (b'{"a":{"x":1}}', b'{"a":{}}'),
        (b'{"a":[1]}', b'{"a":[]}'),
        (b'{"a":null,"b":1}', b'{"a":null,"b":1}'),
        (b'{"b":1}', b'{"b":1}'),
        (None, None),
    ],
)
def test_mask_field(value: bytes | None, expected: bytes | None) -> None:
    assert after(("MaskField$Value", {"fields": "a"}), value) == expected


@pytest.mark.parametrize(
    ("replacement", "value", "expected"),
    [
        ("7.5", b'{"a":1}', b'{"a":7}'),
        ("7.5", b'{"a":1.5}', b'{"a":7.5}'),
        ("7.5", b'{"a":"x"}', b'{"a":"7.5"}'),
        ("***", b'{"a":"x"}', b'{"a":"***"}'),
    ],
)
def test_mask_field_with_a_replacement(replacement: str, value: bytes, expected: bytes) -> None:
    assert after(("MaskField$Value", {"fields": "a", "replacement": replacement}), value) == expected


@pytest.mark.parametrize("value", [b'{"a":1}', b'{"a":true}', b'{"a":[1]}', b'{"a":{}}'])
def test_a_replacement_that_cannot_stand_for_a_value_is_an_error(value: bytes) -> None:
    with pytest.raises(StageError, match="transformation t0: a is"):
        after(("MaskField$Value", {"fields": "a", "replacement": "***"}), value)


def test_s01_copy_value() -> None:
    for package in (ICEBERG, TABULAR):
        step = (package + "CopyValue", {"source.field": "data", "target.field": "data_copy"})
        assert after(step, b'{"id":123,"data":"foobar"}') == b'{"id":123,"data":"foobar","data_copy":"foobar"}'
        assert after(step, b'{"id":1}') == b'{"id":1,"data_copy":null}'
        assert after(step, None) is None


def test_s08_kafka_metadata() -> None:
    name = ICEBERG + "KafkaMetadataTransform"

    assert after((name, {}), b'{"a":1}') == (
        b'{"a":1,"_kafka_metadata_topic":"t","_kafka_metadata_partition":3,"_kafka_metadata_offset":42,'
        b'"_kafka_metadata_timestamp":1700000000123}'
    )
    keys = {"nested": "true", "field_name": "m", "external_field": "cluster,c1"}
    assert after((name, keys), b'{"a":1}') == (
        b'{"a":1,"m":{"topic":"t","partition":3,"offset":42,"timestamp":1700000000123,"cluster":"c1"}}'
    )
    assert after((name, {"external_field": "cluster,c1"}), b"{}", topic="u") == (
        b'{"_kafka_metadata_topic":"u","_kafka_metadata_partition":3,"_kafka_metadata_offset":42,'
        b'"_kafka_metadata_timestamp":1700000000123,"_kafka_metadata_cluster":"c1"}'
    )


def test_two_kafka_metadata_transforms_do_not_disturb_each_other() -> None:
    name = ICEBERG + "KafkaMetadataTransform"
    both = chain((name, {"field_name": "a", "nested": "true"}), (name, {"field_name": "b"}))

    made = applied(both, b"{}")

    assert made is not None
    assert text(made.value) == (
        b'{"a":{"topic":"t","partition":3,"offset":42,"timestamp":1700000000123},'
        b'"b_topic":"t","b_partition":3,"b_offset":42,"b_timestamp":1700000000123}'
    )


def test_value_to_key_copies() -> None:
    both = chain(
        ("HoistField$Value", {"field": "row"}),
        ("ValueToKey", {"fields": "row,none"}),
        ("ExtractField$Key", {"field": "row"}),
        ("MaskField$Key", {"fields": "a"}),
    )

    made = applied(both, b'{"a":1}')

    assert made is not None
    assert text(made.key) == b'{"a":0}'
    assert text(made.value) == b'{"row":{"a":1}}'


@pytest.mark.parametrize(
    ("delimiter", "value", "expected"),
    [
        (".", b'{"a":null,"b":{"c":1.50,"d":[1, 2]},"e":{}}', b'{"a":null,"b.c":1.50,"b.d":[1, 2]}'),
        ("_", b'{"a":{"b":{"c":{"d":"x"}}}}', b'{"a_b_c_d":"x"}'),
        (".", b'{"a.b":1,"a":{"b":2}}', b'{"a.b":2}'),
        (".", None, None),
    ],
)
def test_flatten(delimiter: str, value: bytes | None, expected: bytes | None) -> None:
    assert after(("Flatten$Value", {"delimiter": delimiter}), value) == expected


def test_flatten_lifts_what_another_transformation_has_nested() -> None:
    both = chain(("HoistField$Value", {"field": "row"}), ("Flatten$Value", {"delimiter": "_"}))

    made = applied(both, b'{"a":{"b":1}}')

    assert made is not None
    assert text(made.value) == b'{"row_a_b":1}'


@pytest.mark.parametrize(
    "step",
    [
        ("ReplaceField$Value", {"exclude": "a"}),
        ("ExtractField$Value", {"field": "a"}),
        ("InsertField$Value", {"offset.field": "a"}),
        ("MaskField$Value", {"fields": "a"}),
        ("Flatten$Value", {}),
        ("ValueToKey", {"fields": "a"}),
        ("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": "move"}),
        ("Cast$Value", {"spec": "a:int8"}),
        ("TimestampConverter$Value", {"field": "a", "target.type": "unix"}),
        (ICEBERG + "CopyValue", {"source.field": "a", "target.field": "b"}),
        (ICEBERG + "KafkaMetadataTransform", {}),
        (ICEBERG + "DmsTransform", {}),
        (ICEBERG + "DebeziumTransform", {}),
    ],
)
@pytest.mark.parametrize(("value", "kind"), [(b"5", "number"), (b'"x"', "text"), (b" [1]", "array"), (b"true", "bool")])
def test_only_objects_have_fields(step: tuple[str, dict[str, str]], value: bytes, kind: str) -> None:
    with pytest.raises(StageError, match=f"transformation t0: the value is not an object but {kind}") as error:
        after(step, value)
    assert error.value.origin[0] == "TRANSFORMATION"
    assert error.value.origin[1].endswith(step[0].rpartition(".")[2])
