"""Hides secrets in answers where the worker's `rest.mask.secrets` says so, and takes masked values back."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from frazil.declare.definition import HIDDEN
from frazil.declare.secrets import hide_secrets
from frazil.errors import ConfigError

MASK = "rest.mask.secrets"


def masked(document: Any) -> Any:
    """A JSON document of the API without the secrets of the configurations in it."""
    if isinstance(document, list):
        return [masked(item) for item in document]
    if not isinstance(document, dict):
        return document
    name, value = document.get("name"), document.get("value")
    if isinstance(name, str) and isinstance(value, str):  # a value of the answer to a validation
        document = {**document, "value": masked_value(name, value)}
    return {key: masked_value(key, item) if isinstance(item, str) else masked(item) for key, item in document.items()}


def masked_value(key: str, value: str) -> str:
    """The value of a key without secrets."""
    return hide_secrets(value, {key: value})


def unmasked(sent: Mapping[str, Any], stored: Mapping[str, str]) -> dict[str, Any]:
    """A configuration that was sent, with the stored value of each key whose value is the mask of it.

    Raises ConfigError for a mask of nothing that is stored.
    """
    found = dict(sent)
    for key, value in sent.items():
        if not (isinstance(value, str) and HIDDEN in value):
            continue
        if key not in stored or masked_value(key, stored[key]) != value:
            raise ConfigError(
                f"The value of {key} has {HIDDEN}, which hides a secret, in place of one that is stored. Nothing was "
                "changed; send the value itself."
            )
        found[key] = stored[key]
    return found


def mask(response: Response) -> None:
    """Mask the body of an answer that is JSON."""
    if response.body and response.headers.get("content-type", "").startswith("application/json"):
        response.body = json.dumps(
            masked(json.loads(bytes(response.body))), ensure_ascii=False, separators=(",", ":")
        ).encode()
        response.headers["content-length"] = str(len(response.body))
