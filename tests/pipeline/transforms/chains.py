"""Chains and records for the tests of transformations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.pipeline.transforms.chain import Transformer
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.transforms.record import UNNAMED, Record, raw_bytes
from tests.connectors.samples import MINIMAL_SINK

KAFKA = "org.apache.kafka.connect.transforms."
ICEBERG = "org.apache.iceberg.connect.transforms."
TABULAR = "io.tabular.iceberg.connect.transforms."

Step = tuple[str, Mapping[str, str]]


def config(*steps: Step, **more: str) -> dict[str, str]:
    """A connector with these transformations: class (without Kafka's package) and keys; `__` in `more` is a dot."""
    found = {**MINIMAL_SINK, "transforms": ",".join(f"t{n}" for n in range(len(steps)))}
    for number, (class_name, keys) in enumerate(steps):
        found[f"transforms.t{number}.type"] = class_name if "." in class_name else KAFKA + class_name
        found |= {f"transforms.t{number}.{key}": value for key, value in keys.items()}
    return found | {key.replace("__", "."): value for key, value in more.items()}


def chain(*steps: Step, **more: str) -> TransformChain:
    """The checked transformations of `config`."""
    found = iceberg_sink_config(config(*steps, **more)).transforms
    assert found is not None
    return found


def predicates(steps: Sequence[Step]) -> dict[str, str]:
    """Keys for `more` of predicates that steps ask: `none` for tombstones, `tt` for topics, `marked` for headers."""
    if not any("predicate" in keys for _, keys in steps):
        return {}
    return {
        "predicates": "none,tt,marked",
        "predicates__marked__type": f"{KAFKA}predicates.HasHeaderKey",
        "predicates__marked__name": "h",
        "predicates__none__type": f"{KAFKA}predicates.RecordIsTombstone",
        "predicates__tt__type": f"{KAFKA}predicates.TopicNameMatches",
        "predicates__tt__pattern": "tt.*",
    }


def record(value: bytes | None, **more: Any) -> Record:
    """A record of topic t, partition 3, offset 42."""
    made = Record()
    made.topic, made.partition, made.offset, made.timestamp = "t", 3, 42, 1_700_000_000_123
    made.value, made.key, made.headers, made.typed = value, None, [], False
    made.value_schema = made.key_schema = UNNAMED
    for name, given in more.items():
        setattr(made, name, given)
    return made


def applied(found: TransformChain, value: bytes | None, **more: Any) -> Record | None:
    """The record after the chain, None when it is dropped."""
    made = record(value, **more)
    return made if Transformer(found).apply(made) else None


def text(value: Any) -> bytes | None:
    """The JSON text of a key or value."""
    return value if value is None or isinstance(value, bytes) else raw_bytes(value)


def after(step: Step, value: bytes | None, **more: Any) -> bytes | None:
    """The JSON text of the value after one transformation that keeps the record."""
    made = applied(chain(step), value, **more)
    assert made is not None
    return text(made.value)


def parsed(value: bytes | None) -> Any:
    """The value as Python objects."""
    return None if value is None else msgspec.json.decode(value)
