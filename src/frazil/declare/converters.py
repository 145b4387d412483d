"""Converter keys of a sink connector: which classes there are and what they add."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from frazil.declare.definition import COMMON, REQUIRED, ConfigDef, Key, Parsed, Value, invalid_value
from frazil.declare.registry_converters import BOTH_FORMS, KEPT, REGISTRY_CONVERTERS, registry_keys
from frazil.declare.validators import at_least
from frazil.text.near import class_not_found

CONNECT_VERSION = "4.3.1"
"""The version of Kafka Connect whose routes, shapes and plugins these are; clients unlock features by it."""

Role = Literal["key", "value", "header"]

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
NULLS_TAKE_DEFAULTS = "value.converter.replace.null.with.default"
"""Key by which a null of a value becomes the default value of its field; true unless it is set."""
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

CONVERTERS: tuple[str, ...] = (
    *(
        f"org.apache.kafka.connect.converters.{name}Converter"
        for name in ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short")
    ),
    JSON_CONVERTER,
    STRING_CONVERTER,
    *REGISTRY_CONVERTERS,
)
HEADER_CONVERTERS: tuple[str, ...] = (
    *(name for name in CONVERTERS if name not in REGISTRY_CONVERTERS),
    SIMPLE_HEADER_CONVERTER,
)
_KNOWN = (*HEADER_CONVERTERS, *REGISTRY_CONVERTERS)

READABLE_KEYS: tuple[str, ...] = tuple(name for name in CONVERTERS if not name.endswith("ByteArrayConverter"))
"""Converters of keys that transformations can read."""

DEFAULTS: Mapping[Role, str] = {"key": STRING_CONVERTER, "value": JSON_CONVERTER, "header": SIMPLE_HEADER_CONVERTER}
"""The worker's converters; its value converter has `schemas.enable=false`."""

_NO_EFFECT: Mapping[Role, str | None] = {
    "key": "record keys are not stored; a dead letter keeps the key's bytes",
    "value": None,
    "header": "record headers are not stored; a dead letter keeps them as they are",
}


def converter_class(name: str) -> str | None:
    """The full class name for a class name or alias (`JsonConverter`, `Json`); None when there is none."""
    for known in _KNOWN:
        simple = known.rpartition(".")[2]
        if name in (known, simple, simple.removesuffix("Converter")):
            return known
    return None


def _exists(value: Value) -> str | None:
    if value is None or converter_class(str(value)):
        return None
    return class_not_found(str(value), _KNOWN)


def converter_keys(role: Role, config: Mapping[str, str | None], *, read: bool = False) -> tuple[Key, Key]:
    """`<role>.converter` and its version key; `read` says that transformations read the keys of records."""
    name = f"{role}.converter"
    version = CONNECT_VERSION if converter_class((config.get(name) or DEFAULTS[role]).strip()) else None
    return (
        Key(
            name,
            "CLASS",
            f"Converter of record {role}s; the worker's converter when it is not set.",
            default=DEFAULTS[role],
            importance="LOW",
            validator=_exists,
            no_effect=None if read else _NO_EFFECT[role],
            group=COMMON,
            width="SHORT",
            display_name=f"{role.capitalize()} converter class",
            recommended=HEADER_CONVERTERS if role == "header" else CONVERTERS,
        ),
        Key(
            f"{name}.plugin.version",
            "STRING",
            f"Version of the {role} converter.",
            default=version,
            importance="LOW",
            no_effect="there is exactly one version of each plugin",
            group=COMMON,
            width="SHORT",
            display_name=f"{role.capitalize()} converter version",
            recommended=(version,) if version else (),
        ),
    )


def converter_option_keys(role: Role, config: Mapping[str, str | None], *, read: bool = False) -> tuple[Key, ...]:
    """Options of the converter that the connector sets; the worker's own converter adds none."""
    prefix = f"{role}.converter."
    unused = None if read else _NO_EFFECT[role]
    given = (config.get(f"{role}.converter") or "").strip()
    name = converter_class(given)
    elsewhere = f"it is an option of a converter, and {role}.converter is not set to one that has it"
    is_unknown = given and name is None
    family = Key(
        prefix + "*",
        "STRING",
        f"Option of the {role} converter.",
        default=None,
        no_effect=unused or (None if is_unknown else elsewhere),
    )
    if name in REGISTRY_CONVERTERS:
        return (*registry_keys(name, role, unused), family)
    if name is None or name == SIMPLE_HEADER_CONVERTER:
        return (family,)
    kind = Key(
        prefix + "converter.type",
        "STRING",
        "Whether the converter reads keys, values or headers; set by the worker.",
        default=role,
        importance="LOW",
        no_effect="the worker sets it",
    )
    if name == JSON_CONVERTER:
        return (kind, *_json_keys(prefix, unused), family)
    if name == STRING_CONVERTER:
        return (kind, _encoding(prefix, unused), family)
    return (kind, family)


def _encoding(prefix: str, unused: str | None) -> Key:
    return Key(
        prefix + "converter.encoding",
        "STRING",
        "Character set of the texts: UTF-8.",
        default="UTF-8",
        importance="HIGH",
        validator=None if unused else _utf8,
        no_effect=unused,
        width="MEDIUM",
        display_name="Encoding",
    )


def _json_keys(prefix: str, unused: str | None) -> tuple[Key, ...]:
    return (
        Key(
            prefix + "schemas.enable",
            "BOOLEAN",
            "Whether records have a schema: each is an envelope with the fields schema and payload, or schema.content "
            "is the schema of all.",
            default=True,
            importance="HIGH",
            no_effect=unused,
            group="Schemas",
            width="MEDIUM",
            display_name="Enable Schemas",
        ),
        Key(
            prefix + "schemas.cache.size",
            "INT",
            "How many schemas the converter keeps.",
            default=1000,
            importance="HIGH",
            validator=at_least(0),
            no_effect=unused or KEPT,
            group="Schemas",
            width="MEDIUM",
            display_name="Schema Cache Size",
        ),
        Key(
            prefix + "schema.content",
            "STRING",
            "Schema of all records, as it stands in an envelope; records are payloads then. With schemas.enable=true.",
            default=None,
            importance="HIGH",
            no_effect=unused,
            group="Schemas",
            width="MEDIUM",
            display_name="Schema Content",
        ),
        Key(
            prefix + "decimal.format",
            "STRING",
            "How decimals are written in JSON: BASE64 or NUMERIC, in any case.",
            default="BASE64",
            importance="LOW",
            validator=_decimal_format,
            no_effect=unused or BOTH_FORMS,
            group="Serialization",
            width="MEDIUM",
            display_name="Decimal Format",
        ),
        Key(
            prefix + "replace.null.with.default",
            "BOOLEAN",
            "Whether a null takes the default value of its field in the schema of the record.",
            default=True,
            importance="LOW",
            no_effect=unused,
            group="Serialization",
            width="MEDIUM",
            display_name="Replace null with default",
        ),
    )


def converter_definition(class_name: str) -> ConfigDef:
    """The keys of a converter by themselves, without the prefix that they have in a connector."""
    if class_name == SIMPLE_HEADER_CONVERTER:
        return ConfigDef([])
    config = {"value.converter": class_name}
    options = [key for key in converter_option_keys("value", config) if not key.is_family]
    prefix = "value.converter."
    alone = [replace(key, name=key.name.removeprefix(prefix)) for key in options]
    return ConfigDef([replace(key, default=REQUIRED) if key.name == "converter.type" else key for key in alone])


def _utf8(value: Value) -> str | None:
    return None if str(value).upper() in ("UTF-8", "UTF8") else "Not supported. Texts are read as UTF-8"


def _decimal_format(value: Value) -> str | None:
    if str(value).upper() in ("BASE64", "NUMERIC"):
        return None
    return "String must be one of (case insensitive): BASE64, NUMERIC"


def check_converters(parsed: Parsed, *, text: bool = False) -> None:
    """Refuse a header converter that is none, and value converters that give no columns.

    `text` says that a transformation makes objects from the texts of StringConverter.
    """
    header = converter_class(parsed.text("header.converter"))
    if header is not None and header not in HEADER_CONVERTERS:
        parsed.fail("header.converter", f"Class class {header} does not implement the HeaderConverter interface")
    value = converter_class(parsed.text("value.converter"))
    if value not in (None, JSON_CONVERTER, *REGISTRY_CONVERTERS) and not text:
        reason = (
            "Not supported, for its bytes have no columns. Values are read as JSON, Avro or Protobuf: set "
            f"value.converter to {JSON_CONVERTER}"
        )
        if value == STRING_CONVERTER:
            reason += ", or make columns of the text with JsonToMapTransform"
        parsed.fail("value.converter", invalid_value("value.converter", value, reason))
