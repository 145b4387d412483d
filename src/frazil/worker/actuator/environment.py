"""The environment of a worker as Spring's actuator shows it, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frazil.declare.secrets import hide_secrets
from frazil.environment.variables import VARIABLES

Sources = Mapping[str, Mapping[str, str]]


def sources_of(env: Mapping[str, str], properties: Mapping[str, str]) -> Sources:
    """Variables of frazil that are set, for others are nobody's business, and the worker's keys as they were given."""
    return {
        "systemEnvironment": {name: env[name] for name in sorted(VARIABLES) if name in env},
        "workerProperties": dict(properties),
    }


def environment(sources: Sources) -> dict[str, Any]:
    """The body of /actuator/env."""
    every = {key: value for values in sources.values() for key, value in values.items()}

    def shown(values: Mapping[str, str]) -> dict[str, Any]:
        return {key: {"value": hide_secrets(value, {**every, key: value})} for key, value in values.items()}

    named = [{"name": name, "properties": shown(values)} for name, values in sources.items()]
    return {"activeProfiles": [], "propertySources": named}
