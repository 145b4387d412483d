from __future__ import annotations

import pytest

from frazil.pipeline.convert.strict import StageError
from frazil.pipeline.types import Typed
from tests.pipeline.transforms.chains import ICEBERG, applied, chain, text

NAME = ICEBERG + "JsonToMapTransform"
TEXTS = {"value__converter": "org.apache.kafka.connect.storage.StringConverter"}


def mapped(value: bytes | None, root: str = "false") -> bytes | None:
    made = applied(chain((NAME, {"json.root": root}), **TEXTS), value)
    assert made is not None
    return text(made.value)


def test_with_root_the_record_is_one_map() -> None:
    assert mapped(b'{"key":1,"a":"a"}', "true") == b'{"payload":{"key":"1","a":"a"}}'


def test_a_map_value_is_json_text() -> None:
    assert mapped(b'{"k":{"nested_key":1}}', "true") == b'{"payload":{"k":"{\\"nested_key\\":1}"}}'


@pytest.mark.parametrize("value", [b"{}", b"[]", b"[[],[]]", b"null", b"[[[]]]"])
def test_values_without_content_are_dropped(value: bytes) -> None:
    assert mapped(b'{"a":%b,"b":1}' % value) == b'{"b":1}'


@pytest.mark.parametrize(
    ("value", "expected", "type_"),
    [
        (b'["one",1]', b'["one","1"]', "list<string>"),
        (b"[[1],[2.0]]", b'[["1"],["2.0"]]', "list<list<string>>"),
        (b"[[1],[2]]", b"[[1],[2]]", "list<list<long>>"),
        (b"[1,3000000000]", b"[1,3000000000]", "list<long>"),
        (b"[1,null]", b"[1,null]", "list<long>"),
        (b"[null]", b"[null]", "list<string>"),
        (b'[1.50,"x",null]', b'["1.50","x",null]', "list<string>"),
        (b'[{"a":1},{}]', b'[{"a":"1"},{}]', "list<map<string, string>>"),
        (b'[{"a":1},5]', b'["{\\"a\\":1}","5"]', "list<string>"),
        (b'{"a":{"b":[1]}}', b'{"a":"{\\"b\\":[1]}"}', "map<string, string>"),
        (b"[[1],null]", b'["[1]",null]', "list<string>"),
    ],
)
def test_objects_and_arrays_become_maps_and_lists(value: bytes, expected: bytes, type_: str) -> None:
    made = applied(chain((NAME, {}), **TEXTS), b'{"x":%b}' % value)

    assert made is not None and type(made.value) is dict
    found = made.value["x"]
    assert isinstance(found, Typed)
    assert bytes(found.raw) == expected
    assert str(found.type) == type_


def test_scalars_stay_as_they_are() -> None:
    value = b'{"n":354736184430273859332531123456,"d":1.50,"b":true,"s":"x"}'

    assert mapped(value) == value


@pytest.mark.parametrize(
    ("value", "reason"), [(b"5", "number"), (b"[1]", "not an object but array"), (b"{", "not JSON")]
)
def test_what_is_no_object_is_an_error_of_the_transformation(value: bytes, reason: str) -> None:
    with pytest.raises(StageError, match=reason) as error:
        mapped(value)
    assert error.value.origin == ("TRANSFORMATION", NAME)


def test_tombstones_pass_and_objects_need_no_string_converter() -> None:
    assert mapped(None) is None
    made = applied(chain((NAME, {})), b'{"a":{"b":1}}')
    assert made is not None
    assert text(made.value) == b'{"a":{"b":"1"}}'
