"""Configuration that all sinks share, once checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from frazil.clients.registry.access import apicurio_access, confluent_access
from frazil.clients.registry.schema import SchemaType
from frazil.connectors.keys.framework import ErrorsTolerance, errors_tolerance, schema_content
from frazil.connectors.keys.overrides import auto_offset_reset, consumer_overrides, group_id
from frazil.declare.converters import DEFAULTS, converter_class
from frazil.declare.definition import Parsed, invalid_config_message
from frazil.declare.registry_converters import (
    APICURIO_AVRO_CONVERTER,
    APICURIO_JSON_CONVERTER,
    ID_WIDTHS,
    JSON_SCHEMA_CONVERTER,
    PROTOBUF_CONVERTER,
    REGISTRY_CONVERTERS,
    SUBJECT_NAMES,
)
from frazil.errors import ConfigError
from frazil.pipeline.envelope import Envelope, JsonEnvelope
from frazil.pipeline.letters.queues import DLQ
from frazil.pipeline.schemas.connect import ConnectOptions, ProtobufOptions
from frazil.pipeline.schemas.converter import RegistryConverter, SubjectName
from frazil.pipeline.schemas.wire import Framing, Part
from frazil.pipeline.transforms.declaration import TransformChain, transform_chain
from frazil.pipeline.transforms.keys import KeyConverter


@dataclass(frozen=True, kw_only=True)
class SinkConfig:
    """A checked configuration; each sink adds what it has. Times are milliseconds.

    Exactly one of `topics` and `topics_regex` is set. `envelope` is how records come with their schemas, if they do;
    that of `key` is None where nobody reads keys. `consumer_overrides` are without their prefix, and without group id
    and `auto.offset.reset`.
    """

    name: str
    topics: tuple[str, ...]
    topics_regex: str | None = None
    group_id: str
    auto_offset_reset: Literal["earliest", "latest"] = "earliest"
    tasks_max: int = 1
    value_converter: str = DEFAULTS["value"]
    envelope: Envelope | None = None
    key: KeyConverter = field(default_factory=KeyConverter)
    errors_tolerance: ErrorsTolerance = "none"
    dead_letter_topic: str | None = None
    dead_letter_replication: int = 3
    dead_letter_headers: bool = False
    consumer_overrides: Mapping[str, str] = field(default_factory=dict)
    transforms: TransformChain | None = None

    @property
    def schemas_enable(self) -> bool:
        """Whether records come with their schemas."""
        return self.envelope is not None

    @property
    def reads_headers(self) -> bool:
        """Whether headers of records make a difference."""
        return self.transforms is not None and self.transforms.reads_headers

    @property
    def reads_schema_headers(self) -> bool:
        """Whether headers of records may say which schema they have."""
        return any(isinstance(one, RegistryConverter) for one in (self.envelope, self.key.envelope))

    @property
    def reads_committed(self) -> bool:
        """Whether the user wants records of committed transactions only."""
        return self.consumer_overrides.get("isolation.level") == "read_committed"


def sink_fields(parsed: Parsed, *, keys: bool = False) -> dict[str, Any]:
    """The fields of `SinkConfig`, by their names; raises ConfigError with all errors in Connect's text.

    `keys`: whether the sink itself reads those of records.
    """
    errors = parsed.error_texts()
    if errors:
        raise ConfigError(invalid_config_message(errors))
    name, tolerance, chain = parsed.text("name"), errors_tolerance(parsed), transform_chain(parsed)
    chain = chain and replace(chain, gives_keys=keys and bool(chain.changes_keys))
    key = KeyConverter(converter_class(parsed.text("key.converter")) or DEFAULTS["key"])
    if keys or (chain is not None and chain.reads_keys):
        key = replace(key, envelope=part_envelope(parsed, "key"))
    return {
        "name": name,
        "topics": tuple(dict.fromkeys(parsed.items("topics"))),
        "topics_regex": parsed.text("topics.regex") or None,
        "group_id": group_id(name, parsed.config),
        "auto_offset_reset": auto_offset_reset(parsed),
        "tasks_max": parsed.number("tasks.max"),
        "value_converter": converter_class(parsed.text("value.converter")) or DEFAULTS["value"],
        "envelope": part_envelope(parsed, "value"),
        "key": key,
        "errors_tolerance": tolerance,
        "dead_letter_topic": (parsed.text(DLQ + "topic.name") or None) if tolerance == "all" else None,
        "dead_letter_replication": parsed.number(DLQ + "topic.replication.factor"),
        "dead_letter_headers": parsed.flag(DLQ + "context.headers.enable"),
        "consumer_overrides": consumer_overrides(parsed),
        "transforms": chain and replace(chain, key=key),
    }


def part_envelope(parsed: Parsed, part: Part) -> Envelope | None:
    """Find how keys or values come with their schemas, if they do. Raises ConfigError for a registry that is none."""
    name = converter_class(parsed.text(f"{part}.converter"))
    if name in REGISTRY_CONVERTERS:
        return registry_converter(name, part, parsed)
    if parsed.values.get(f"{part}.converter.schemas.enable") is not True:
        return None
    defaults = parsed.values.get(f"{part}.converter.replace.null.with.default") is True
    return JsonEnvelope(schema_content(parsed, part).encode(), part, defaults)


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
