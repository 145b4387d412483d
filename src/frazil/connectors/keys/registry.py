"""The converter of a schema registry that a connector is configured with."""

from typing import Literal, cast

from frazil.clients.registry.access import apicurio_access, confluent_access
from frazil.clients.registry.schema import SchemaType
from frazil.declare.definition import Parsed
from frazil.declare.registry_converters import (
    APICURIO_AVRO_CONVERTER,
    APICURIO_JSON_CONVERTER,
    ID_WIDTHS,
    JSON_SCHEMA_CONVERTER,
    PROTOBUF_CONVERTER,
    SUBJECT_NAMES,
)
from frazil.pipeline.schemas.connect import ConnectOptions, ProtobufOptions
from frazil.pipeline.schemas.converter import RegistryConverter, SubjectName
from frazil.pipeline.schemas.wire import Framing, Part

_OF_PROTOBUF = (
    "enhanced.protobuf.schema.support",
    "generalized.sum.type.support",
    "int.for.enums",
    "optional.for.nullables",
    "optional.for.proto2",
    "wrapper.for.nullables",
    "wrapper.for.raw.primitives",
    "generate.struct.for.nulls",
    "generate.index.for.unions",
    "flatten.unions",
)
"""Keys in the order of `ProtobufOptions`."""


def registry_converter(class_name: str, part: Part, parsed: Parsed) -> RegistryConverter:
    """Make the converter from keys that were checked.

    Raises ConfigError, which names the key, for a registry that cannot be called so.
    """
    prefix = f"{part}.converter."
    options = {
        name.removeprefix(prefix): text.strip()
        for name, text in parsed.config.items()
        if name.startswith(prefix) and text is not None
    }

    def flag(name: str) -> bool:
        return parsed.values.get(prefix + name) is True

    read = ConnectOptions(
        flag("enhanced.avro.schema.support"),
        flag("generalized.sum.type.support"),
        flag("connect.meta.data"),
        flag("flatten.singleton.unions"),
    )
    if class_name in (APICURIO_AVRO_CONVERTER, APICURIO_JSON_CONVERTER):
        id_kind = cast(Literal["contentId", "globalId"], parsed.text(f"{prefix}apicurio.registry.use-id"))
        own = apicurio_access(options, prefix)
        if class_name == APICURIO_JSON_CONVERTER:
            return RegistryConverter(
                class_name,
                "KCONNECT",
                own,
                Framing(part, id_kind, json=True),
                defaults=flag("replace.null.with.default"),
            )
        width = ID_WIDTHS[parsed.text(f"{prefix}apicurio.registry.id-handler")]
        framing = Framing(part, id_kind, 8 if width == 8 else 4, apicurio=True)
        return RegistryConverter(class_name, "AVRO", own, framing, options=read)
    subject = cast(SubjectName, SUBJECT_NAMES[parsed.text(f"{prefix}{part}.subject.name.strategy")])
    access, latest = confluent_access(options, prefix), flag("use.latest.version")
    if class_name == PROTOBUF_CONVERTER:
        messages = ProtobufOptions(*map(flag, _OF_PROTOBUF))
        framing = Framing(part, messages=True)
        return RegistryConverter(class_name, "PROTOBUF", access, framing, subject, messages, latest)
    kind: SchemaType = "JSON" if class_name == JSON_SCHEMA_CONVERTER else "AVRO"
    return RegistryConverter(class_name, kind, access, Framing(part), subject, read, latest)
