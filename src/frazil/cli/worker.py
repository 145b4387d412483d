"""The verb `worker`: the worker process in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from frazil.cli.usage import examples
from frazil.config.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        epilog=examples(
            "worker",
            "worker worker.properties  # a member of its group.id",
            "start worker  # the same in the background",
            "logs worker -f",
        )
    )(worker)


def worker(
    properties: Annotated[
        Path | None,
        typer.Argument(help="Configuration in the form of Kafka Connect's worker.properties."),
    ] = None,
) -> None:
    """Run the worker in the foreground: connectors, REST, metrics.

    With group.id in PROPERTIES, or in the variable CONNECT_GROUP_ID, it is one of a group of workers that share their
    connectors. `start` runs it in the background. Ctrl+C ends it after the running batches.
    """
    from frazil.config.worker import WorkerConfig
    from frazil.worker.main import run

    settings = Settings.load()
    config = WorkerConfig.load(settings, properties)
    run(config.settings(settings), config)
