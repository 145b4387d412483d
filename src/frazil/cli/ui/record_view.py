"""Prints records of topics: lines for people, or as `frazil.pipeline.record_lines` writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from frazil.cli.ui.output import Output, as_text
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.sql.value_text import json_text, printable

if TYPE_CHECKING:
    from confluent_kafka import Message

    from frazil.pipeline.schemas.wire import Part

Decode = Callable[["Message"], Mapping[str, bytes]]
"""Gives what a connector reads of key and value that have schemas."""


def decoder(settings: Settings, topic: str, connector: str | None, readers: Mapping[str, Mapping[str, str]]) -> Decode:
    """Read records of a topic as `connector` does, which has to be one of `readers`; as any of them without one.

    Raises UsageError for a connector that does not read the topic.
    """
    from frazil.clients.kafka.headers import headers_of
    from frazil.connectors.schema_records import read_parts

    if connector is not None and connector not in readers:
        known = f"what reads it here: {', '.join(sorted(readers)) or 'nothing'}"
        raise UsageError(f"connector {connector} does not read {topic}, as far as the worker tells; {known}")
    if not readers:
        return lambda message: {}
    config = readers[connector or min(readers)]
    providers = settings.providers()

    def decode(message: Message) -> Mapping[str, bytes]:
        key, value = message.key(), message.value()
        parts: dict[Part, bytes | None] = {
            "key": key.encode() if isinstance(key, str) else key,
            "value": value.encode() if isinstance(value, str) else value,
        }
        return read_parts(config, settings, providers, parts, headers_of(message), topic)

    return decode


def record_printer(output: Output, decode: Decode, *, raw: bool) -> Callable[[Message], None]:
    """Make the function that prints one record, with credentials masked unless it is to be `raw`."""
    from frazil.pipeline.record_lines import record_line

    def show(message: Message) -> None:
        line = record_line(message, decode(message), raw=raw)
        if output is Output.JSON:
            typer.echo(line)
        elif output is Output.YAML:
            typer.echo("---\n" + as_text(msgspec.json.decode(line), output))
        else:
            typer.echo(_for_people(msgspec.json.decode(line)))

    return show


def _for_people(record: dict[str, Any]) -> str:
    parts = [f"{record['partition']}@{record['offset']}", str(record["timestamp"] or "no time")]
    if record["key"] is not None:
        parts.append(f"key={_text(record['key'])}")
    if record["headers"]:
        parts.append(" ".join(f"{one['name']}:{_text(one['value'])}" for one in record["headers"]))
    parts.append("tombstone" if record["value"] is None else _text(record["value"]))
    return printable("  ".join(parts))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)
