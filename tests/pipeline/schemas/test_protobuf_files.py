from __future__ import annotations

import base64
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from frazil.pipeline.schemas.connect import SchemaError
from frazil.pipeline.schemas.protobuf_files import compile_protobuf, message_of, parameters_of
from tests.pipeline.schemas.protobufs import HEAD

OTHER = 'syntax = "proto3";\npackage other;\nimport "deep/er.proto";\nmessage Part { deep.Er er = 1; }\n'
DEEPER = 'syntax = "proto3";\npackage deep;\nmessage Er { string a = 1; }\n'
MAIN = HEAD + 'import "other.proto";\nmessage Whole { other.Part part = 1; }\n'


def encoded(text: str, *references: tuple[str, str]) -> str:
    described = FileDescriptorProto()
    compile_protobuf(text, references).CopyToProto(described)
    return base64.b64encode(described.SerializeToString()).decode()


def test_imports_are_those_that_the_registry_gives() -> None:
    references = [("deep/er.proto", DEEPER), ("other.proto", OTHER)]
    for main in (MAIN, encoded(MAIN, *references)):
        for others in (references, [(name, encoded(text, *references[:1])) for name, text in references]):
            whole = message_of(compile_protobuf(main, others), (0,))
            assert whole.fields[0].message_type.fields[0].message_type.full_name == "deep.Er"
    with pytest.raises(SchemaError, match="other.proto: File not found"):
        compile_protobuf(MAIN)


@pytest.mark.parametrize("name", ["../a.proto", "/opt/a.proto", "a\\b.proto", "a/../../b.proto", "", "x" * 300])
def test_an_import_leads_to_no_other_folder(name: str) -> None:
    with pytest.raises(SchemaError):
        compile_protobuf(HEAD + "message A {}", [(name, DEEPER)])


def test_a_file_of_this_machine_is_no_import(tmp_path: Path) -> None:
    (tmp_path / "own.proto").write_text(DEEPER)
    for path in (str(tmp_path / "own.proto"), f"../{tmp_path.name}/own.proto"):
        with pytest.raises(SchemaError, match="it is no Protobuf schema"):
            compile_protobuf(HEAD + f'import "{path}";\nmessage A {{ deep.Er b = 1; }}')


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "QUJD",
        "AAAA" * 9,
        '{"type":"string"}',
        HEAD + "message A { B b = 1; }",
        HEAD + "message A { string a = 1",
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        message_of(compile_protobuf(text), (0,))


NESTED = (
    HEAD
    + """
message First { map<string, string> labels = 1; message Inner { message Most {} } message Second {} }
message Third {}
"""
)


def test_messages_are_found_by_indexes_and_by_name() -> None:
    file = compile_protobuf(NESTED)
    names = {(0,): "First", (0, 0): "First.Inner", (0, 0, 0): "First.Inner.Most", (0, 1): "First.Second", (1,): "Third"}
    for indexes, name in names.items():
        assert message_of(file, indexes).full_name == f"shop.v1.{name}"
        assert message_of(file, name).full_name == f"shop.v1.{name}"
        assert message_of(file, f"shop.v1.{name}").full_name == f"shop.v1.{name}"
    for message in ((2,), (0, 2), (1, 0), (-1,), "Fourth", "First.Third", ""):
        with pytest.raises(SchemaError, match="it has no message"):
            message_of(file, message)


def test_parameters_of_a_field() -> None:
    text = HEAD + (
        'import "confluent/meta.proto";\n'
        'message A { int32 a = 1 [(confluent.field_meta) = {doc: "x" params: {key: "k" value: "v"} tags: "PII"}]; '
        "int32 b = 2 [deprecated = true]; int32 c = 3; }"
    )
    a, b, c = message_of(compile_protobuf(text), (0,)).fields
    assert (parameters_of(a), parameters_of(b), parameters_of(c)) == ({"k": "v"}, {}, {})
