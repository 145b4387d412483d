"""Parts of a chain of transformations that change many records at once: columns, and fields that are taken out."""

from collections.abc import Sequence

import msgspec

from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.route import CARE, field_reader
from frazil.pipeline.transforms.classes.extract_field import extracted_path
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.declaration import TransformChain, TransformConfig
from frazil.pipeline.transforms.plugin import items, text
from frazil.pipeline.transforms.record import quoted
from frazil.pipeline.transforms.registry import PREDICATES, TRANSFORMATIONS

ODD = (*CARE, ConversionError)
_NULL = b"null"
_whole = msgspec.json.Decoder(msgspec.Raw).decode


def columns_of(chain: TransformChain) -> list[ApplyToBlock] | None:
    """Make what changes columns; None where a step has no way for them."""
    built = [_compiled_columns(config) for config in chain.steps]
    if chain.reads_keys or chain.header or None in built:
        return None
    writers = [at for at, step in enumerate(chain.steps) if TRANSFORMATIONS[step.name].writes_headers]
    if writers and asked_headers(chain.steps[writers[0] :]):
        return None
    return [one for one in built if one is not None]


def asked_headers(steps: Sequence[TransformConfig]) -> frozenset[str]:
    """Names of the headers that predicates ask for."""
    asked = (step.predicate for step in steps if step.predicate is not None)
    return frozenset(str(dict(one.settings)["name"]) for one in asked if PREDICATES[one.name].reads_headers)


def new_names(steps: Sequence[TransformConfig]) -> frozenset[str]:
    """Names that `ReplaceField` gives to fields."""
    renames = (items(dict(step.settings), "renames") for step in steps if step.name == "ReplaceField")
    return frozenset(entry.partition(":")[2] for entries in renames for entry in entries)


class OfText:
    """The first transformations of a chain that only take a field out of JSON, or wrap it; `rest` are the others."""

    def __init__(self, chain: TransformChain) -> None:
        path: list[str] = []
        steps = [] if chain.value_is_text else list(chain.steps)
        while steps and _is_plain(steps[0], "ExtractField"):
            path += extracted_path(dict(steps.pop(0).settings))
        self._extract = field_reader(tuple(path)) if path else None
        self._opening = b""
        if len(steps) == 1 and _is_plain(steps[0], "HoistField"):
            self._opening = b"{%s:" % bytes(quoted(text(dict(steps.pop().settings), "field")))
        self.only_extracts = bool(path) and not self._opening
        self.rest = chain.steps if chain.value_is_text else tuple(steps)

    def change(self, value: bytes | None) -> bytes | None:
        """Change a value. Raises one of ODD for one that has to be looked at."""
        if value is not None and not value.isascii():
            value.decode()
        found = value if self._extract is None or value is None else self._extract(value)
        if not self._opening:
            return None if found == _NULL else found
        return self._opening + (_NULL if found is None else bytes(_whole(found))) + b"}"


def _is_plain(step: TransformConfig, name: str) -> bool:
    return step.name == name and step.part == "value" and step.predicate is None


def _compiled_columns(config: TransformConfig) -> ApplyToBlock | None:
    build = TRANSFORMATIONS[config.name].columns
    if build is None or config.part == "key":
        return None
    apply = build(dict(config.settings))
    if config.predicate is None:
        return apply
    asked, negate = PREDICATES[config.predicate.name].columns, config.negate
    if asked is None:
        return None
    test = asked(dict(config.predicate.settings))

    def conditional(block: Block) -> Block | None:
        found = test(block)
        return None if found is None else block if found is negate else apply(block)

    return conditional
