"""Records of the user's own for any topic: each line of a file or of standard input is the value of one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.progress import progress
from frazil.environment.settings import Settings
from frazil.errors import UsageError


def send_values(settings: Settings, topic: str, source: Path) -> None:
    """Produce the lines of `source` (`-`: standard input) as they are, to a topic that is created when it is missing.

    Raises UsageError when the file cannot be read, and what `RecordProducer.send` raises.
    """
    from frazil.clients.kafka.topics import ensure_topics
    from frazil.minio.generators.produce import RecordProducer

    try:
        lines = nullcontext(sys.stdin.buffer) if str(source) == "-" else source.open("rb")
    except OSError as error:
        raise UsageError(f"--values {source} cannot be read: {error.strerror}. Nothing was produced") from None
    started = time.monotonic()
    with lines as opened, RecordProducer(settings.bootstrap_servers) as producer:
        created = ensure_topics(settings.bootstrap_servers, {topic: (-1, {})})[topic]
        with progress(make_console(stderr=True)) as show:
            acknowledged = producer.send(topic, _values(opened, source), None, _shown(topic, show))
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


def _shown(topic: str, show: Callable[[str], None]) -> Callable[[int], None]:
    return lambda acknowledged: show(f"{topic}: {acknowledged:,} records")
