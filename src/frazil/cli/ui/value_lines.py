"""Records of the user's own for any topic, from the lines of a file or of standard input."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.clients.kafka.produce import Outgoing
    from frazil.pipeline.schemas.encode import Encode


@dataclass(frozen=True)
class Lines:
    """Lines to be sent: the file (`-`: standard input) and its option, and files of schemas that encode them.

    With `whole` each line is a record in JSON, else the value of one.
    """

    source: Path
    whole: bool
    schema: Path | None = None
    key_schema: Path | None = None

    @property
    def option(self) -> str:
        """The option that named the file."""
        return "--records" if self.whole else "--values"


def send_lines(settings: Settings, topic: str, lines: Lines) -> None:
    """Produce lines to a topic that is created when it is missing; with a schema, the registry gets it.

    Raises UsageError when a file cannot be read, or a line is no record or does not fit its schema, and what registry
    and `RecordProducer.send` raise.
    """
    from frazil.clients.kafka.produce import RecordProducer
    from frazil.clients.kafka.topics import ensure_topics

    try:
        opened = nullcontext(sys.stdin.buffer) if str(lines.source) == "-" else lines.source.open("rb")
    except OSError as error:
        raise UsageError(
            f"{lines.option} {lines.source} cannot be read: {error.strerror}. Nothing was produced"
        ) from None
    with opened as file:
        encode = _encoder(settings, f"{topic}-value", "--schema", lines.schema)
        encode_key = _encoder(settings, f"{topic}-key", "--key-schema", lines.key_schema)
        started = time.monotonic()
        with RecordProducer(settings.bootstrap_servers) as producer:
            created = ensure_topics(settings.bootstrap_servers, {topic: (-1, {})})[topic]
            with progress(make_console(stderr=True)) as show:
                records = _records(_lines(file, lines), lines.whole, encode, encode_key)
                acknowledged = producer.send(topic, records, None, _shown(topic, show))
    seconds = time.monotonic() - started
    new = " (the topic is new)" if created else ""
    typer.echo(f"{topic}: {counted(acknowledged, 'record')} in {seconds:.1f} s{new}")


def _lines(opened: Iterator[bytes], lines: Lines) -> Iterator[bytes]:
    """Lines without their end; empty ones are none."""
    try:
        for line in opened:
            value = line.rstrip(b"\r\n")
            if value:
                yield value
    except OSError as error:
        raise UsageError(f"{lines.option} {lines.source} cannot be read any further: {error.strerror}") from None


def _encoder(settings: Settings, subject: str, option: str, file: Path | None) -> Encode | None:
    """Register the schema of a file, and make the function that encodes by it; None without a file."""
    from frazil.clients.registry.access import RegistryAccess
    from frazil.clients.registry.client import RegistryClient
    from frazil.pipeline.schemas.connect import SchemaError
    from frazil.pipeline.schemas.encode import encoder

    if file is None:
        return None
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{option} {file} cannot be read: {error}. Nothing was produced") from None
    client = RegistryClient(RegistryAccess((settings.registry_url,)))
    try:
        return encoder(client, subject, text, protobuf=file.suffix == ".proto")
    except SchemaError as error:
        raise UsageError(f"{option} {file}: {error}. Nothing was produced") from None


def _records(
    lines: Iterator[bytes], whole: bool, encode: Encode | None, encode_key: Encode | None
) -> Iterator[bytes | Outgoing]:
    from frazil.pipeline.convert.strict import ConversionError
    from frazil.pipeline.record_lines import parse_record

    for number, line in enumerate(lines, start=1):
        try:
            if whole:
                yield parse_record(line, encode, encode_key)
            else:
                yield line if encode is None else encode(line)
        except ConversionError as error:
            which = "cannot be sent" if whole else "does not fit the schema"
            raise UsageError(f"record {number} {which}: {error}. Those before it may be in the topic") from None


def _shown(topic: str, show: Callable[[str], None]) -> Callable[[int], None]:
    return lambda acknowledged: show(f"{topic}: {acknowledged:,} records")
