"""Request bodies: size, JSON, and flat maps of configuration values."""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import Request

from frazil.errors import ConfigError

MAX_BODY_BYTES = 1 << 20


@dataclass(frozen=True)
class Body:
    """A request's body as it was sent, and the JSON document that it is; numbers are the text they were written in."""

    content: bytes
    json: Any


async def read_body(request: Request) -> Body:
    """The whole body; raises HTTPException 413 when it is larger than `MAX_BODY_BYTES`, ConfigError for no JSON."""
    content = await read_bytes(request)
    return Body(content, parse_json(content))


async def read_bytes(request: Request) -> bytes:
    """The whole body, whatever it is; raises HTTPException 413 when it is larger than `MAX_BODY_BYTES`."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"The request body is larger than {MAX_BODY_BYTES} bytes; nothing was changed.")
    return bytes(body)


def parse_json(body: bytes) -> Any:
    """A JSON document with numbers as the text that they were written in.

    Raises ConfigError; the message names the place, never the text, which may hold secrets.
    """
    if not body.strip():
        raise ConfigError("The request has no body; send a JSON object.")

    def refuse(constant: str) -> NoReturn:
        raise ConfigError(f"The request body is not JSON: {constant} is no JSON value.")

    try:
        return json.loads(body.decode("utf-8"), parse_int=str, parse_float=str, parse_constant=refuse)
    except UnicodeDecodeError as error:
        raise ConfigError(f"The request body is not JSON: byte {error.start} is not UTF-8.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(f"The request body is not JSON: {error.msg} at {place}.") from None
    except RecursionError:
        raise ConfigError(
            "The request body is not JSON that can be a configuration: it is nested too deeply."
        ) from None


def config_map(value: Any, what: str) -> dict[str, str | None]:
    """A flat map of configuration values; booleans become text, null stays None. Raises ConfigError."""
    if isinstance(value, dict) and isinstance(value.get("config"), dict):
        raise ConfigError(
            f"{what} has the keys under config, as POST /connectors takes them; send what is in config by itself."
        )
    if not isinstance(value, dict):
        raise ConfigError(f"{what} is missing or not a JSON object; send an object of keys and values.")
    return {_text(key, what): _config_value(key, item) for key, item in value.items()}


def _config_value(key: str, item: Any) -> str | None:
    if isinstance(item, dict | list):
        kind = "an object" if isinstance(item, dict) else "an array"
        raise ConfigError(f"The value of {key} is {kind}; send it as a string.")
    if isinstance(item, bool):
        return "true" if item else "false"
    return None if item is None else _text(item, f"The value of {key}")


def _text(item: str, what: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in item):
        raise ConfigError(f"{what} has a lone surrogate, which is not Unicode text.")
    return item
