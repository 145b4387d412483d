"""Configurations as people see them."""

from collections.abc import Mapping

from frazil.declare.definition import HIDDEN
from frazil.declare.placeholders import has_placeholder
from frazil.declare.secrets import is_secret


def shown_value(key: str, value: str) -> str:
    """A value of a configuration for people: secrets are hidden, placeholders are not secret."""
    return HIDDEN if is_secret(key) and not has_placeholder(value) else value


def plain_secrets(config: Mapping[str, str]) -> list[str]:
    """Keys of a configuration whose secrets stand in it as they are."""
    return sorted(key for key, value in config.items() if value and shown_value(key, value) == HIDDEN)


def shown_config(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Keys and values for people, sorted."""
    return [(key, shown_value(key, value)) for key, value in sorted(config.items())]
