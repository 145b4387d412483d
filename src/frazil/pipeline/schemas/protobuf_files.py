"""Protobuf schemas of a registry, compiled: the messages of a file, and what its options say of a field.

Google's own compiler reads them, in a process and a folder of its own: it sees nothing but the schemas that the
registry gave, and those that every registry knows. It makes descriptors, never code.
"""

import base64
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from frazil.environment.extras import extra
from frazil.errors import ServiceUnavailable
from frazil.pipeline.schemas.connect import SchemaError

with extra("protobuf"):
    import grpc_tools
    from google.protobuf import message_factory
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError, Message
    from google.type import date_pb2

_LIMIT_S = 120
_SHOWN = 500
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_META = """
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""
_KNOWN = {
    "confluent/meta.proto": _META,
    "confluent/type/decimal.proto": """
syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
""",
    "confluent/type/variant.proto": """
syntax = "proto3";
package confluent.type;
message Variant { bytes metadata = 1; bytes value = 2; }
""",
}
"""Files that registries with Confluent's API know, beside those of Google."""
_META_NUMBER = 1088


def compile_protobuf(text: str, references: Iterable[tuple[str, str]] = ()) -> FileDescriptor:
    """Compile a schema; `references` are name and text of those that it imports, by the names that it has for them.

    Either may be the text of a `.proto` file, or a descriptor of one in Base64, as some clients register it. Raises
    SchemaError for what is no such schema, ServiceUnavailable when the compiler cannot be started.
    """
    files = dict(references)
    main = "schema.proto"
    while main in files:
        main = f"_{main}"
    with tempfile.TemporaryDirectory(prefix="frazil-protobuf-") as name:
        folder = Path(name)
        described = FileDescriptorSet()
        for file, content in (*files.items(), (main, text)):
            _store(folder, file, content, described)
        for file, content in _KNOWN.items():
            if file not in files:
                _write(folder, file, content)
        (folder / "described.bin").write_bytes(described.SerializeToString())
        compiled = _compiled(folder, main, with_descriptors=len(described.file) > 0)
    pool = DescriptorPool()
    try:
        for found in FileDescriptorSet.FromString(compiled).file:
            pool.Add(found)
        return pool.FindFileByName(main)
    except (DecodeError, KeyError, TypeError) as error:
        raise SchemaError(f"it is no Protobuf schema: {error}") from None


def message_of(file: FileDescriptor, message: tuple[int, ...] | str) -> Descriptor:
    """Find a message by its indexes in the file and in the messages around it, or by its name.

    Raises SchemaError when there is none.
    """
    if isinstance(message, str):
        prefix = f"{file.package}." if file.package else ""
        found = file.message_types_by_name
        for part in message.removeprefix(prefix).split("."):
            one = found.get(part)
            if one is None:
                raise SchemaError(f"it has no message {message}")
            found = one.nested_types_by_name
        return one
    types = list(file.message_types_by_name.values())
    for index in message:
        if not 0 <= index < len(types):
            raise SchemaError(f"it has no message {list(message)}")
        one = types[index]
        types = [inner for inner in one.nested_types if not inner.GetOptions().map_entry]
    return one


def message_class(descriptor: Descriptor) -> type[Message]:
    """Give the class that reads and writes a message."""
    found: type[Message] = message_factory.GetMessageClass(descriptor)
    return found


def parameters_of(field: FieldDescriptor) -> Mapping[str, str]:
    """Read the parameters that Confluent's option `field_meta` gives a field."""
    if not field.has_options:
        return {}
    try:
        found: Any = _Options.FromString(field.GetOptions().SerializeToString())
    except DecodeError:
        return {}
    return dict(found.meta.params)


def _options_class() -> type[Message]:
    """Make a message that reads of a field's options what Confluent added to them."""
    file = FileDescriptorProto(name="options.proto", package="frazil")
    meta = file.message_type.add(name="Meta")
    entry = meta.nested_type.add(name="ParamsEntry")
    entry.options.map_entry = True
    kinds, optional, repeated = file.message_type.add(name="Options"), 1, 3
    text, message = 9, 11
    entry.field.add(name="key", number=1, type=text, label=optional)
    entry.field.add(name="value", number=2, type=text, label=optional)
    meta.field.add(name="params", number=2, type=message, label=repeated, type_name=".frazil.Meta.ParamsEntry")
    kinds.field.add(name="meta", number=_META_NUMBER, type=message, label=optional, type_name=".frazil.Meta")
    pool = DescriptorPool()
    pool.Add(file)
    return message_class(pool.FindMessageTypeByName("frazil.Options"))


_Options = _options_class()


def _store(folder: Path, name: str, content: str, described: FileDescriptorSet) -> None:
    """Write the text of a schema as a file, or add its descriptor to those that the compiler gets."""
    stripped = content.strip()
    if not _BASE64.fullmatch(stripped):
        _write(folder, name, content)
        return
    try:
        found = FileDescriptorProto.FromString(base64.b64decode(stripped, validate=True))
    except (DecodeError, ValueError) as error:
        raise SchemaError(f"it is no Protobuf schema: {error}") from None
    found.name = name
    described.file.append(found)


def _write(folder: Path, name: str, content: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name or "\\" in name:
        raise SchemaError(f"a schema cannot be imported by the name {name!r}")
    file = folder / path
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    except OSError as error:
        raise SchemaError(f"a schema cannot be imported by the name {name!r}: {error.strerror}") from None


def _compiled(folder: Path, main: str, *, with_descriptors: bool) -> bytes:
    """Run the compiler; gives a set of descriptors, each behind those that it needs."""
    known = Path(date_pb2.__file__).parents[2], Path(grpc_tools.__file__).parent / "_proto"
    command = [
        *(sys.executable, "-I", "-m", "grpc_tools.protoc"),
        *(f"--proto_path={path}" for path in (folder, *known)),
        *([f"--descriptor_set_in={folder / 'described.bin'}"] if with_descriptors else []),
        "--include_imports",
        f"--descriptor_set_out={folder / 'compiled.bin'}",
        main,
    ]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=_LIMIT_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise SchemaError(f"it was not compiled in {_LIMIT_S} s") from None
    except OSError as error:
        raise ServiceUnavailable(f"the compiler of Protobuf schemas cannot be started: {error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().replace(f"{folder}/", "")
        raise SchemaError(f"it is no Protobuf schema: {said[:_SHOWN]}")
    return (folder / "compiled.bin").read_bytes()
