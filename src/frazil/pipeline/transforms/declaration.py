"""Keys of `transforms` and `predicates`: what each alias adds, the rules between them, and the typed result."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from frazil.declare.converters import (
    CONNECT_VERSION,
    READABLE_KEYS,
    SIMPLE_HEADER_CONVERTER,
    STRING_CONVERTER,
    converter_class,
)
from frazil.declare.definition import Key, Parsed, Value, invalid_value, parse_value
from frazil.pipeline.transforms.keys import KeyConverter
from frazil.pipeline.transforms.plugin import (
    ALL,
    CHANGES,
    IDS,
    KEY_OR_VALUE,
    OPERATIONS,
    TRUNCATES,
    Plugin,
    Transformation,
)
from frazil.pipeline.transforms.record import Part
from frazil.pipeline.transforms.refused import REFUSED
from frazil.pipeline.transforms.registry import PREDICATES, TRANSFORMATIONS
from frazil.text.near import class_not_found

Kind = Literal["transformation", "predicate"]
Settings = tuple[tuple[str, Value], ...]

_FAMILY: Mapping[Kind, str] = {"transformation": "transforms", "predicate": "predicates"}
_CLASSES: Mapping[Kind, Mapping[str, Plugin]] = {"transformation": TRANSFORMATIONS, "predicate": PREDICATES}
_P = TypeVar("_P", bound=Plugin)


@dataclass(frozen=True)
class PredicateConfig:
    """A predicate that a transformation asks; `name` is the simple name of its class."""

    name: str
    settings: Settings


@dataclass(frozen=True)
class TransformConfig:
    """Configuration of a transformation. `settings` are its own keys without prefix; `part` is what it works on."""

    alias: str
    class_name: str
    name: str
    part: Part
    settings: Settings
    predicate: PredicateConfig | None = None
    negate: bool = False


@dataclass(frozen=True)
class TransformChain:
    """The transformations in their order, and how keys, values and headers are read for them.

    `header` is the converter of headers whose values are taken; empty when only names count. With `gives_keys` keys are
    given beside values, as they are after the last one.
    """

    steps: tuple[TransformConfig, ...]
    key: KeyConverter
    value_is_text: bool
    header: str = ""
    gives_keys: bool = False

    @property
    def changes_keys(self) -> tuple[str, ...]:
        """The aliases of transformations that change keys."""
        return tuple(step.alias for step in self.steps if step.part == "key" or step.name == "ValueToKey")

    @property
    def reads_keys(self) -> bool:
        """Whether the record's own key makes a difference."""
        return self.gives_keys or any(
            step.part == "key" or TRANSFORMATIONS[step.name].reads_keys(dict(step.settings)) for step in self.steps
        )

    @property
    def follows(self) -> bool:
        """Whether a transformation says what records do to rows, which change by it."""
        return any(dict(step.settings).get(OPERATIONS) is True for step in self.steps)

    @property
    def reads_headers(self) -> bool:
        """Whether the record's own headers make a difference."""
        asked = (step.predicate and PREDICATES[step.predicate.name].reads_headers for step in self.steps)
        return bool(self.header) or any(asked)


def transform_keys(config: Mapping[str, str | None]) -> list[Key]:
    """List the keys of every alias that `transforms` and `predicates` name, in Connect's order."""
    keys: list[Key] = []
    kinds: tuple[Kind, ...] = ("transformation", "predicate")
    for kind in kinds:
        for alias in _aliases(kind, config):
            keys += _alias_keys(kind, alias, config)
    for kind in kinds:
        if not _aliases(kind, config):
            family = _FAMILY[kind]
            keys.append(
                Key(f"{family}.*", "STRING", f"Key of a {kind}.", default=None, no_effect=f"{family} is not set")
            )
    return keys


def _aliases(kind: Kind, config: Mapping[str, str | None]) -> tuple[str, ...]:
    value = parse_value("LIST", config.get(_FAMILY[kind]) or "")
    return tuple(dict.fromkeys(alias for alias in value if alias)) if isinstance(value, tuple) else ()


def _alias_keys(kind: Kind, alias: str, config: Mapping[str, str | None]) -> Iterator[Key]:
    prefix = f"{_FAMILY[kind]}.{alias}."
    group = f"{_FAMILY[kind].capitalize()}: {alias}"
    yield Key(
        prefix + "type",
        "CLASS",
        f"Class of the {kind} {alias}.",
        importance="HIGH",
        validator=lambda value: None if value is None else _refusal(kind, str(value)),
        group=group,
        width="LONG",
        display_name=f"{kind.capitalize()} type for {alias}",
        recommended=_names(kind),
    )
    name = (config.get(prefix + "type") or "").strip()
    found = _find(_CLASSES[kind], name)
    version = CONNECT_VERSION if found else None
    yield Key(
        prefix + "plugin.version",
        "STRING",
        f"Version of the {kind}.",
        default=version,
        importance="HIGH",
        no_effect="there is exactly one version of each plugin",
        group=group,
        width="LONG",
        display_name=f"{kind.capitalize()} version for {alias}",
        recommended=(version,) if version else (),
    )
    if found is None:
        if name:
            yield Key(prefix + "*", "STRING", "Key of a class that is not known.", default=None)
        return
    for key in found[1].keys:
        yield replace(key, name=prefix + key.name, group=group, display_name=key.name)
    if kind == "transformation":
        yield Key(
            prefix + "negate",
            "BOOLEAN",
            "Whether the transformation is for the records that do not satisfy the predicate.",
            default=False,
            group=group,
            display_name="negate",
        )
        yield Key(
            prefix + "predicate",
            "STRING",
            "Alias of the predicate that a record has to satisfy.",
            default=None,
            group=group,
            display_name="predicate",
        )


def _find(plugins: Mapping[str, _P], name: str) -> tuple[str, _P] | None:
    """Find the full class name and the plugin for a name or its last part; of two generations, the Apache one."""
    for plugin in plugins.values():
        for full in plugin.class_names:
            if name in (full, full.rpartition(".")[2]):
                return full, plugin
    return None


def _names(kind: Kind) -> tuple[str, ...]:
    return tuple(name for plugin in _CLASSES[kind].values() if not plugin.refused for name in plugin.class_names)


def _refusal(kind: Kind, name: str) -> str | None:
    found = _find(_CLASSES[kind], name)
    if found is not None:
        return found[1].refused
    if kind == "transformation" and name in REFUSED:
        return REFUSED[name]
    nested = [f"{name}${part}" for part in KEY_OR_VALUE if _find(_CLASSES[kind], f"{name}${part}")]
    if nested:
        return f"This class is abstract and cannot be created. Did you mean {' or '.join(nested)}?"
    other: Kind = "predicate" if kind == "transformation" else "transformation"
    if _find(_CLASSES[other], name):
        return f"Not a {kind.capitalize()}"
    return class_not_found(name, _names(kind))


def check_transforms(parsed: Parsed) -> None:
    """Check the rules between the keys of aliases; unlike Connect, what would fail the task fails the validation."""
    for kind in _CLASSES:
        for alias in _aliases(kind, parsed.config):
            prefix = f"{_FAMILY[kind]}.{alias}."
            found = _find(_CLASSES[kind], parsed.text(prefix + "type"))
            if found is None:
                continue
            plugin, settings = found[1], _settings(parsed, prefix, found[1])
            for name, problem in plugin.check(prefix, settings):
                parsed.fail(prefix + name, problem)
            if isinstance(plugin, Transformation):
                _check_predicate(parsed, prefix)
                for text in plugin.warnings(prefix, settings):
                    parsed.warn(text)
    used = {parsed.text(f"transforms.{alias}.predicate") for alias in _usable(parsed)}
    for alias in _aliases("predicate", parsed.config):
        if alias not in used:
            parsed.warn(f"predicates.{alias} has no effect here: no transformation asks it")
    _check_converters(parsed)


def _usable(parsed: Parsed) -> list[str]:
    """List the aliases of transformations whose class is known."""
    return [
        alias
        for alias in _aliases("transformation", parsed.config)
        if _find(TRANSFORMATIONS, parsed.text(f"transforms.{alias}.type"))
    ]


def _settings(parsed: Parsed, prefix: str, plugin: Plugin) -> dict[str, Value]:
    return {key.name: parsed.values[prefix + key.name] for key in plugin.keys}


def _check_predicate(parsed: Parsed, prefix: str) -> None:
    negate, predicate = prefix + "negate", prefix + "predicate"
    alias = parsed.text(predicate)
    if negate in parsed.config and predicate not in parsed.config:
        parsed.fail(
            prefix + "type",
            f"Config '{negate}' was provided but there is no config '{predicate}' defining a predicate to be negated.",
        )
    if predicate in parsed.config and alias not in _aliases("predicate", parsed.config):
        known = ", ".join(_aliases("predicate", parsed.config)) or "none"
        parsed.fail(predicate, invalid_value(predicate, alias, f"Not an alias in predicates (there are: {known})"))


def _check_converters(parsed: Parsed) -> None:
    chain = transform_chain(parsed)
    if chain is None or not chain.reads_keys:
        return
    if chain.key.class_name not in READABLE_KEYS:
        reason = f"Not supported where a transformation reads keys. Set one of: {', '.join(READABLE_KEYS)}"
        parsed.fail("key.converter", invalid_value("key.converter", chain.key.class_name, reason))


def reads_keys(config: Mapping[str, str | None]) -> bool:
    """Whether a transformation works on the keys of records, or copies them."""
    return any(name.endswith("$Key") or plugin.reads_keys({}) for name, plugin in _named(config))


def reads_text(config: Mapping[str, str | None]) -> bool:
    """Whether the values are texts of StringConverter that a transformation makes objects from."""
    if converter_class((config.get("value.converter") or "").strip()) != STRING_CONVERTER:
        return False
    return any(plugin.makes_objects and not name.endswith("$Key") for name, plugin in _named(config))


def writes_operation(config: Mapping[str, str | None]) -> bool:
    """Whether a transformation says in `OPERATION` what a record does to its row."""
    return any(plugin.writes_operation for _, plugin in _named(config))


def _named(config: Mapping[str, str | None]) -> Iterator[tuple[str, Transformation]]:
    """List the known classes that a configuration names: full name and plugin."""
    for alias in _aliases("transformation", config):
        found = _find(TRANSFORMATIONS, (config.get(f"transforms.{alias}.type") or "").strip())
        if found is not None:
            yield found


def transform_chain(parsed: Parsed) -> TransformChain | None:
    """Make the chain of a configuration; None when no transformation does something.

    Of the converter of keys it has the class alone.
    """
    steps: list[TransformConfig] = []
    for alias in _usable(parsed):
        prefix = f"transforms.{alias}."
        found = _find(TRANSFORMATIONS, parsed.text(prefix + "type"))
        if found is None or found[1].build is None:
            continue
        class_name, plugin = found
        steps.append(
            TransformConfig(
                alias,
                class_name,
                plugin.name,
                "key" if class_name.endswith("$Key") else "value",
                tuple(_settings(parsed, prefix, plugin).items()),
                _predicate(parsed, parsed.text(prefix + "predicate")),
                parsed.flag(prefix + "negate"),
            )
        )
    if not steps:
        return None
    key = KeyConverter(converter_class(parsed.text("key.converter")) or STRING_CONVERTER)
    takes = any(TRANSFORMATIONS[step.name].reads_headers(dict(step.settings)) for step in steps)
    header = converter_class(parsed.text("header.converter")) or SIMPLE_HEADER_CONVERTER
    return TransformChain(tuple(steps), key, reads_text(parsed.config), header if takes else "")


def with_change_events(
    chain: TransformChain | None, format_: str, key: KeyConverter, *, changes: bool
) -> TransformChain:
    """The chain, which begins with making rows of change events; `changes`: a table keeps each of them."""
    settings = (("format", format_), (CHANGES, changes))
    step = TransformConfig("frazil.cdc.format", "frazil.ChangeEvents", "ChangeEvents", "value", settings)
    if chain is None:
        return TransformChain((step,), key, value_is_text=False)
    return replace(chain, steps=(step, *chain.steps), key=key)


def with_operations(chain: TransformChain) -> TransformChain:
    """The chain, whose transformations say what a record does to its row where they leave a choice."""
    return _told(chain, {OPERATIONS: True})


def watching(chain: TransformChain, ids: Iterable[str], *, renamed: bool, truncates: bool) -> TransformChain:
    """The chain, for rows that are found by the fields `ids`; `renamed`: the tables may have other names for them.

    `truncates`: records may empty the tables.
    """
    return _told(chain, {IDS: tuple(sorted(ids)), ALL: renamed or len(chain.steps) > 1, TRUNCATES: truncates})


def _told(chain: TransformChain, more: Mapping[str, Value]) -> TransformChain:
    """The chain, whose transformations of change events have more options."""
    steps = tuple(
        replace(step, settings=(*step.settings, *more.items())) if TRANSFORMATIONS[step.name].writes_operation else step
        for step in chain.steps
    )
    return replace(chain, steps=steps)


def _predicate(parsed: Parsed, alias: str) -> PredicateConfig | None:
    if alias not in _aliases("predicate", parsed.config):
        return None
    prefix = f"predicates.{alias}."
    found = _find(PREDICATES, parsed.text(prefix + "type"))
    return found and PredicateConfig(found[1].name, tuple(_settings(parsed, prefix, found[1]).items()))
