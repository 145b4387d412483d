"""Checks of records by a JSON Schema, draft 4 to 2020-12."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from frazil.errors import ConfigError
from frazil.pipeline.convert.strict import ConversionError, StageError, shortened

Failures = list[tuple[int, ConversionError]]
Check = Callable[[Sequence[bytes | None]], Failures]

_decode = msgspec.json.Decoder().decode
_raw = msgspec.json.Decoder(msgspec.Raw).decode
_COUNTED = 10
_KEYWORDS = frozenset(
    ("$schema", "$ref", "type", "properties", "required", "enum", "const", "allOf", "anyOf", "oneOf", "not", "items")
) | frozenset(("additionalProperties", "patternProperties", "minimum", "maximum", "pattern", "format", "if"))
"""Keywords that tell a schema from another JSON file that is named by mistake."""
_SHOWN = 160
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
"""Patterns give up on a text after half a millisecond; those without lookarounds and references never have to."""


class InvalidRecord(StageError):
    """A record that is not valid by its schema; `path` is the place of the wrong value."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__("TASK_PUT", "frazil.JsonSchema", reason)
        self.path = shortened(path)

    def __str__(self) -> str:
        return f"column {self.path}: {self.reason}" if self.path else self.reason


def parse_schema(text: bytes) -> Any:
    """Read the schema of a file. Raises ConfigError when it is no JSON, or not what its draft allows."""
    try:
        schema = _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"it is not JSON: {error}") from None
    if not isinstance(schema, dict) or _KEYWORDS.isdisjoint(schema):
        raise ConfigError("a schema is an object with a keyword of JSON Schema, such as type or properties")
    _validator(schema, formats=False)
    return schema


@lru_cache(maxsize=16)
def checker(text: bytes, *, formats: bool) -> Check:
    """Make a check of values by a schema; with `formats` it checks those of texts, such as `date-time`, too.

    The check gives positions and reasons of the JSON values that are not valid. Those that are null, absent or no JSON
    are for others to tell. Raises ConfigError as `parse_schema` does.
    """
    parse_schema(text)
    validator = _validator(_decode(text), formats=formats)
    is_valid = validator.is_valid

    def check(values: Sequence[bytes | None]) -> Failures:
        failed: Failures = []
        for index, value in enumerate(values):
            if value is None:
                continue
            try:
                document = _decode(value)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                if _is_json(value):
                    failed.append((index, InvalidRecord("", f"the value cannot be checked by its schema: {error}")))
                continue
            if document is not None and not is_valid(document):
                failed.append((index, _reason(validator, document)))
        return failed

    return check


def _validator(schema: Any, *, formats: bool) -> Any:
    elsewhere: list[str] = []

    def refuse(uri: str) -> Any:
        elsewhere.append(uri)
        raise ValueError(uri)

    try:
        return jsonschema_rs.validator_for(
            schema, validate_formats=formats, retriever=refuse, pattern_options=_PATTERNS
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        if elsewhere:
            reason = f"{elsewhere[0]} is in another file, and a reference has to begin with #"
        else:
            # The error's text has values of the file, which somebody may name who may not read it.
            where = "/".join(map(str, getattr(error, "instance_path", ())))
            reason = f"JSON Schema has no such value at {where or 'its root'}"
        raise ConfigError(f"it is no valid schema: {reason}") from None


def _is_json(value: bytes) -> bool:
    try:
        _raw(value)
        value.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _reason(validator: Any, document: Any) -> ConversionError:
    """Make the error from the first reason; it says how many others there are."""
    errors = list(islice(validator.iter_errors(document), _COUNTED))
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return InvalidRecord(column_path(first.instance_path), f"not valid by the schema: {_short(first.message)}{more}")


def column_path(parts: Sequence[str | int]) -> str:
    """Write a path of members and positions as those of columns are: `items[2].name`."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]} … {text[-_SHOWN // 2 :]}"
