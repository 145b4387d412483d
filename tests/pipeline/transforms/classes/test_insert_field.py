from __future__ import annotations

from tests.pipeline.transforms.chains import after

METADATA = {"topic.field": "t", "partition.field": "p!", "offset.field": "o?", "timestamp.field": "ts"}


def test_coordinates_and_a_constant_become_fields() -> None:
    keys = {**METADATA, "static.field": "s", "static.value": '5"'}

    value = after(("InsertField$Value", keys), b'{"a":1}', topic="ä")

    assert value == '{"a":1,"t":"ä","p":3,"o":42,"ts":1700000000123,"s":"5\\""}'.encode()
    assert after(("InsertField$Value", keys), None) is None


def test_it_replaces_a_field_of_the_name() -> None:
    assert after(("InsertField$Value", {"offset.field": "a"}), b'{"a":1,"b":2}') == b'{"a":42,"b":2}'
