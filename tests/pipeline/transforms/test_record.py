from __future__ import annotations

import pytest

from frazil.pipeline.convert.strict import StageError, UnreadableValue, parse_object
from frazil.pipeline.transforms.record import open_value
from tests.pipeline.transforms.chains import ICEBERG, after

BIG = b'{"a":0.12345678901234567890123,"b":123456789012345678901234567890,"c":{"d":1.50,"e":[1e2, 2]},"f":"\\u00e9"}'


def test_what_is_not_touched_keeps_its_source_text() -> None:
    step = ("ReplaceField$Value", {"renames": "x:y"})

    assert after(step, BIG) == BIG.replace(b"\\u00e9", b"\\u00e9")


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


@pytest.mark.parametrize("text", [b"nope", b"garbage{", b"this is no JSON", b"", b"  ", b'{"a":nope}', b'"\\ud800"'])
def test_what_is_no_json_is_told_alike_wherever_it_is_read(text: bytes) -> None:
    reasons = []
    for read in (open_value, parse_object):
        with pytest.raises(UnreadableValue) as raised:
            read(text)
        reasons.append(str(raised.value))
    assert reasons[0] == reasons[1]
