"""The key for how the worker's log tells the warnings about a connector's configuration."""

from __future__ import annotations

from frazil.declare.definition import Key
from frazil.declare.validators import one_of

WARNINGS_LEVEL = Key(
    "frazil.warnings.level",
    "STRING",
    "Level of the warnings about this configuration in the worker's log: warn, a line for each; info, all in one line, "
    "for a configuration that keeps keys which only Kafka Connect needs.",
    default="warn",
    importance="LOW",
    validator=one_of("warn", "info"),
)
