"""Parts of a chain of transformations that change many records at once: columns, and fields that are taken out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from frazil.pipeline.route import field_reader
from frazil.pipeline.transforms.classes.extract_field import extracted_path
from frazil.pipeline.transforms.columns import ApplyToBlock, Block
from frazil.pipeline.transforms.declaration import TransformChain, TransformConfig
from frazil.pipeline.transforms.plugin import items
from frazil.pipeline.transforms.registry import PREDICATES, TRANSFORMATIONS


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


def first_extracts(chain: TransformChain) -> tuple[Callable[[bytes], bytes | None] | None, tuple[TransformConfig, ...]]:
    """Make what takes a field out of JSON for the first transformations, if they do no more; also the others."""
    path: list[str] = []
    steps = list(chain.steps)
    while steps and steps[0].name == "ExtractField" and steps[0].part == "value" and steps[0].predicate is None:
        path += extracted_path(dict(steps.pop(0).settings))
    if not path or chain.value_is_text:
        return None, chain.steps
    return field_reader(tuple(path)), tuple(steps)


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
