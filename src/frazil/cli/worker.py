"""The verb `worker`: the worker process in the foreground."""

from __future__ import annotations

import typer

from frazil.cli.usage import examples
from frazil.config.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(epilog=examples("worker", "start worker  # the same in the background", "logs worker -f"))(worker)


def worker() -> None:
    """Run the worker in the foreground: connectors, REST, metrics.

    `start` runs it in the background. Ctrl+C ends it after the running batches.
    """
    from frazil.worker.main import run

    run(Settings.load())
