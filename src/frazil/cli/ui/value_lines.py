"""Records of the user's own for any topic: each line of a file or of standard input is the value of one."""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.pipeline.convert.strict import ConversionError

if TYPE_CHECKING:
    from frazil.clients.registry.client import RegistryClient


def send_values(settings: Settings, topic: str, source: Path, schema: Path | None = None) -> None:
    """Produce the lines of `source` (`-`: standard input) as they are, to a topic that is created when it is missing.

    With the file of a `schema` they are what that makes of them, and the registry has it. Raises UsageError when a file
    cannot be read, or a line does not fit the schema, and what registry and `RecordProducer.send` raise.
    """
    from frazil.clients.kafka.topics import ensure_topics
    from frazil.minio.generators.produce import RecordProducer

    try:
        lines = nullcontext(sys.stdin.buffer) if str(source) == "-" else source.open("rb")
    except OSError as error:
        raise UsageError(f"--values {source} cannot be read: {error.strerror}. Nothing was produced") from None
    with lines as opened:
        encode = None if schema is None else _encoder(settings, topic, schema)
        started = time.monotonic()
        with RecordProducer(settings.bootstrap_servers) as producer:
            created = ensure_topics(settings.bootstrap_servers, {topic: (-1, {})})[topic]
            with progress(make_console(stderr=True)) as show:
                acknowledged = producer.send(
                    topic, _encoded(_values(opened, source), encode), None, _shown(topic, show)
                )
    seconds = time.monotonic() - started
    records = "1 record" if acknowledged == 1 else f"{acknowledged:,} records"
    typer.echo(f"{topic}: {records} in {seconds:.1f} s" + (" (the topic is new)" if created else ""))


def _values(lines: Iterator[bytes], source: Path) -> Iterator[bytes]:
    """Lines without their end; empty ones are none."""
    try:
        for line in lines:
            value = line.rstrip(b"\r\n")
            if value:
                yield value
    except OSError as error:
        raise UsageError(f"--values {source} cannot be read any further: {error.strerror}") from None


def _encoder(settings: Settings, topic: str, file: Path) -> Callable[[bytes], bytes]:
    """Register a schema for a topic, and make the function that makes a record of a line."""
    from frazil.clients.registry.access import RegistryAccess
    from frazil.clients.registry.client import RegistryClient
    from frazil.pipeline.schemas.avro import parse_avro
    from frazil.pipeline.schemas.avro_writer import avro_writer
    from frazil.pipeline.schemas.connect import SchemaError
    from frazil.pipeline.schemas.json_schemas import json_to_connect

    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--schema {file} cannot be read: {error}. Nothing was produced") from None
    client = RegistryClient(RegistryAccess((settings.registry_url,)))
    if file.suffix == ".proto":
        return _protobuf_encoder(client, topic, file, text)
    try:
        write = avro_writer(parse_avro(text))
        prefix = _prefix(client.register(f"{topic}-value", text, "AVRO"))
        return lambda line: prefix + write(line)
    except SchemaError as not_avro:
        try:
            json_to_connect(text)
        except SchemaError as error:
            raise UsageError(
                f"--schema {file} is neither an Avro schema ({not_avro}) nor a JSON Schema ({error}). "
                "Nothing was produced"
            ) from None
    prefix = _prefix(client.register(f"{topic}-value", text, "JSON"))
    return lambda line: prefix + line


def _protobuf_encoder(client: RegistryClient, topic: str, file: Path, text: str) -> Callable[[bytes], bytes]:
    from frazil.pipeline.schemas.connect import SchemaError
    from frazil.pipeline.schemas.protobuf_writer import FIRST_MESSAGE, protobuf_writer

    try:
        write = protobuf_writer(text)
    except SchemaError as error:
        raise UsageError(f"--schema {file}: {error}. Nothing was produced") from None
    prefix = _prefix(client.register(f"{topic}-value", text, "PROTOBUF")) + FIRST_MESSAGE
    return lambda line: prefix + write(line)


def _prefix(number: int) -> bytes:
    return b"\0" + struct.pack(">i", number)


def _encoded(values: Iterator[bytes], encode: Callable[[bytes], bytes] | None) -> Iterator[bytes]:
    for number, value in enumerate(values, start=1):
        try:
            yield value if encode is None else encode(value)
        except ConversionError as error:
            raise UsageError(
                f"record {number} does not fit the schema: {error}. Those before it may be in the topic"
            ) from None


def _shown(topic: str, show: Callable[[str], None]) -> Callable[[int], None]:
    return lambda acknowledged: show(f"{topic}: {acknowledged:,} records")
