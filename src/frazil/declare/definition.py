"""Declared configuration keys: parsing, errors in Kafka Connect's words, warnings, data of validate and docs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Final, Literal

from frazil.declare.placeholders import has_placeholder
from frazil.text.near import nearest

Type = Literal["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]
Importance = Literal["HIGH", "MEDIUM", "LOW"]
Width = Literal["NONE", "SHORT", "MEDIUM", "LONG"]
Value = str | int | float | bool | tuple[str, ...] | None
Validator = Callable[[Value], str | None]

NULL_VALUE = "Null value can not be supplied as the configuration value."
HIDDEN = "[hidden]"
_MOST_HINTS = 100
"""Unknown keys for which a known one is looked for; it takes as long as there are known ones."""
COMMON = "Common"
"""Group of the keys that every connector has."""


class Required(Enum):
    """Marks a key that has no default value."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED

_INTEGER_BITS: Final[Mapping[str, int]] = {"SHORT": 16, "INT": 32, "LONG": 64}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Key:
    """Configuration key, or a family of keys when `name` contains `*` (`iceberg.catalog.*`).

    `validator` gets the parsed value and returns why it is refused, or None.
    `aliases` are other spellings of the same key; the first one that is set wins, `name` before its aliases.
    `no_effect` says why a key is accepted and yet changes nothing here; setting it gives a warning.
    """

    name: str
    type: Type
    documentation: str
    default: Value | Required = REQUIRED
    importance: Importance = "MEDIUM"
    validator: Validator | None = None
    aliases: tuple[str, ...] = ()
    no_effect: str | None = None
    group: str | None = None
    width: Width = "NONE"
    display_name: str | None = None
    recommended: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def is_family(self) -> bool:
        return "*" in self.name

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(re.escape(spelling).replace(r"\*", "(.+)"), re.DOTALL) for spelling in self.spellings)

    def member(self, name: str) -> str | None:
        """Part of `name` that stands for the `*` of the family; None when `name` is not of the family."""
        matches = (pattern.fullmatch(name) for pattern in self._patterns)
        return next((match[1] for match in matches if match), None)


def parse_value(type_: Type, text: str) -> Value:
    """Parse one trimmed value; raises ValueError with Connect's reason."""
    text = text.strip()
    if type_ == "BOOLEAN":
        if text.lower() not in ("true", "false"):
            raise ValueError("Expected value to be either true or false")
        return text.lower() == "true"
    if type_ in _INTEGER_BITS:
        limit = 1 << (_INTEGER_BITS[type_] - 1)
        if not _INTEGER.fullmatch(text) or len(text) > 20 or not -limit <= int(text) < limit:
            raise ValueError(f"Not a number of type {type_}")
        return int(text)
    if type_ == "DOUBLE":
        if not _DOUBLE.fullmatch(text):
            raise ValueError("Not a number of type DOUBLE")
        return float(text)
    if type_ == "LIST":
        return tuple(part.strip() for part in text.split(",")) if text else ()
    return text


def as_text(value: Value) -> str | None:
    """The value as the validate response shows it: a string, or None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def invalid_value(name: str, value: object, reason: str) -> str:
    """Connect's error text for a value that is refused; lists are shown as `[a, b]`."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, tuple):
        value = f"[{', '.join(value)}]"
    return f"Invalid value {'null' if value is None else value} for configuration {name}: {reason}"


def invalid_config_message(errors: list[str]) -> str:
    """The frame that Connect puts around the errors of a configuration."""
    return (
        f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n"
        + "\n".join(errors)
        + "\nYou can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


@dataclass
class Parsed:
    """A connector configuration after parsing; cross-key rules add to it with `fail` and `warn`."""

    definition: ConfigDef
    config: Mapping[str, str | None]
    values: dict[str, Value] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    echoes: set[tuple[str, str]] = field(default_factory=set)
    """Errors by key that only follow from another one of the same value, which Connect tells all the same."""
    hidden: set[str] = field(default_factory=set)
    """Keys that mean nothing beside the others, which a form does not show."""

    def fail(self, name: str, text: str) -> None:
        self.errors.setdefault(name, []).append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def error_texts(self) -> list[str]:
        """All errors in the order of the definition, as often as they stand on a key."""
        return [text for name in self._entries() for text in self.errors.get(name, ())]

    def causes(self) -> list[str]:
        """The errors, without those that only follow from another one of the same value."""
        return [
            text for name in self._entries() for text in self.errors.get(name, ()) if (name, text) not in self.echoes
        ]

    def _entries(self) -> list[str]:
        undefined = [name for name in self.errors if name not in self.definition.keys]
        return [*undefined, *self.definition.keys]

    def text(self, name: str) -> str:
        """The value of a STRING or CLASS key; empty when it is null."""
        value = self.values[name]
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """The value of an INT, SHORT or LONG key."""
        value = self.values[name]
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        """The value of a BOOLEAN key."""
        return self.values[name] is True

    def items(self, name: str) -> tuple[str, ...]:
        """The entries of a LIST key, without blank ones."""
        value = self.values[name]
        return tuple(item for item in value if item) if isinstance(value, tuple) else ()

    def members(self, family: str) -> dict[str, str]:
        """The keys of a family that are set: what stands for `*` -> the value as sent."""
        key = self.definition.families[family]
        found: dict[str, str] = {}
        for spelling in reversed(key.spellings):
            one = Key(spelling, key.type, key.documentation)
            for name, text in self.config.items():
                member = one.member(name)
                if member is not None and text is not None and self.definition.find(name) is key:
                    found[member] = text
        return found

    def config_infos(self) -> list[dict[str, object]]:
        """The entries `{definition, value}` of a ConfigInfos body."""
        infos: list[dict[str, object]] = []
        for name in self._entries():
            key = self.definition.keys.get(name)
            value = as_text(self.values.get(name))
            if key is not None and key.type == "PASSWORD" and value is not None:
                value = HIDDEN
            infos.append(
                {
                    "definition": self.definition.describe(key) if key else None,
                    "value": {
                        "name": name,
                        "value": value,
                        "recommended_values": list(key.recommended) if key else [],
                        "errors": list(self.errors.get(name, ())),
                        "visible": name not in self.hidden,
                    },
                }
            )
        return infos


class ConfigDef:
    """Declared keys in order; families (names with `*`) have no entry of their own in a validate response."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys: dict[str, Key] = {}
        self.families: dict[str, Key] = {}
        for key in keys:
            (self.families if key.is_family else self.keys)[key.name] = key
        self._aliases = {alias: key for key in self.keys.values() for alias in key.aliases}

    def find(self, name: str) -> Key | None:
        """The key or family that `name` belongs to; exact names win over families."""
        exact = self.keys.get(name) or self._aliases.get(name)
        return exact or next((key for key in self.families.values() if key.member(name) is not None), None)

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(key.group for key in self.keys.values() if key.group))

    def parse(self, config: Mapping[str, str | None]) -> Parsed:
        """Parse every declared key; never raises for a wrong value: all errors are in the result.

        A value with a placeholder stays text, of whatever type the key is; in a list it is an entry.
        """
        parsed = Parsed(self, config)
        for key in self.keys.values():
            parsed.values[key.name] = self._parse_key(key, config, parsed)
        unknown = 0
        for name, text in config.items():
            if text is None:
                parsed.fail(name, NULL_VALUE)
            key_or_family = self.find(name)
            if key_or_family is None:
                unknown += 1
                parsed.warn(self._unknown(name, hint=unknown <= _MOST_HINTS))
            elif key_or_family.no_effect:
                parsed.warn(f"{name} has no effect here: {key_or_family.no_effect}")
        return parsed

    @staticmethod
    def _parse_key(key: Key, config: Mapping[str, str | None], parsed: Parsed) -> Value:
        spelling = next((name for name in key.spellings if name in config), None)
        value: Value = None
        if spelling is not None:
            text = config[spelling]
            if text is not None and has_placeholder(text):
                # What it stands for is checked when the connector starts.
                return parse_value("LIST", text) if key.type == "LIST" else text
            try:
                value = None if text is None else parse_value(key.type, text)
            except ValueError as error:
                parsed.fail(key.name, invalid_value(key.name, HIDDEN if key.type == "PASSWORD" else text, str(error)))
        elif isinstance(key.default, Required):
            parsed.fail(key.name, f'Missing required configuration "{key.name}" which has no default value.')
        else:
            value = key.default
        reason = key.validator(value) if key.validator else None
        if reason is not None:
            shown = HIDDEN if key.type == "PASSWORD" and value is not None else value
            text = invalid_value(key.name, shown, reason)
            if key.name in parsed.errors:
                parsed.echoes.add((key.name, text))
            parsed.fail(key.name, text)
        return value

    def _unknown(self, name: str, *, hint: bool) -> str:
        known = [*self.keys, *self._aliases, *self.families] if hint else []
        near = nearest(name, known, 0.75)
        meant = f"; did you mean {near}?" if near else ""
        return f"{name} is not a key of this connector and has no effect{meant}"

    @cached_property
    def _orders(self) -> dict[str, int]:
        """Places of keys in their groups, from 1 on."""
        seen: Counter[str | None] = Counter()
        found = {}
        for key in self.keys.values():
            seen[key.group] += 1
            found[key.name] = seen[key.group]
        return found

    def describe(self, key: Key) -> dict[str, object]:
        """The ConfigKeyInfo of one key."""
        required = isinstance(key.default, Required)
        return {
            "name": key.name,
            "type": key.type,
            "required": required,
            "default_value": None if isinstance(key.default, Required) else as_text(key.default),
            "importance": key.importance,
            "documentation": key.documentation,
            "group": key.group,
            "order_in_group": self._orders[key.name] if key.group else -1,
            "width": key.width,
            "display_name": key.display_name or key.name,
            "dependents": [],
        }
