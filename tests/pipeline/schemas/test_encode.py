from __future__ import annotations

import json
from typing import cast

import pytest

from frazil.clients.registry.client import RegistryClient
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.schemas.connect import SchemaError
from frazil.pipeline.schemas.encode import encoder


class _Registry:
    """Gives each schema the number 7."""

    def register(self, subject: str, text: str, kind: str) -> int:
        return 7


REGISTRY = cast(RegistryClient, _Registry())
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"n":10}', "column n: not valid by the schema: 10 is greater than the maximum of 9"),
        (b"{}", 'not valid by the schema: "n" is a required property'),
        (b"{", "it is not JSON"),
    ],
)
def test_a_value_that_is_not_valid_by_its_json_schema_is_refused(line: bytes, reason: str) -> None:
    encode = encoder(REGISTRY, "t-value", json.dumps(SCHEMA), protobuf=False)
    assert encode(b'{"n":9}') == b'\0\0\0\0\7{"n":9}'
    with pytest.raises(ConversionError, match=reason):
        encode(line)


def test_a_json_schema_in_several_files_is_refused() -> None:
    text = json.dumps({"type": "object", "properties": {"n": {"$ref": "http://127.0.0.1:9/n.json"}}})
    with pytest.raises(SchemaError):
        encoder(REGISTRY, "t-value", text, protobuf=False)
