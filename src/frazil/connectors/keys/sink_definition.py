"""The keys of a sink connector: those of every sink around its own."""

from collections.abc import Mapping, Sequence

from frazil.connectors.keys.framework import IDENTITY_KEYS, SINK_KEYS
from frazil.declare.converters import Role, converter_keys, converter_option_keys
from frazil.declare.definition import ConfigDef, Key
from frazil.declare.validators import at_least, one_of
from frazil.pipeline.transforms.declaration import reads_keys, transform_keys

WARNINGS_LEVEL = Key(
    "frazil.warnings.level",
    "STRING",
    "Level of the warnings about this configuration in the worker's log: warn, a line for each; info, all in one line, "
    "for a configuration that keeps keys which only Kafka Connect needs.",
    default="warn",
    importance="LOW",
    validator=one_of("warn", "info"),
)
BATCH_RECORDS = Key(
    "frazil.batch.max.records",
    "INT",
    "Most records of one batch, over all partitions.",
    default=500_000,
    validator=at_least(1),
)


def sink_definition(
    config: Mapping[str, str | None], own: Sequence[Key], *, keys: bool = False, headers: bool = False
) -> ConfigDef:
    """All keys that count for `config`: the framework's, the sink's own, those of its transformations and converters.

    `keys` and `headers`: whether the sink reads those of records, so that their converters count.
    """
    roles: dict[Role, bool] = {"key": keys or reads_keys(config), "value": False, "header": headers}
    converters = [key for role, read in roles.items() for key in converter_keys(role, config, read=read)]
    options = [key for role, read in roles.items() for key in converter_option_keys(role, config, read=read)]
    return ConfigDef([*IDENTITY_KEYS, *converters, *SINK_KEYS, *transform_keys(config), *own, *options])
