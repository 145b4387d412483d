"""The verb `worker`: the worker process in the foreground."""

from __future__ import annotations

import typer

from frazil.config.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(worker)


def worker() -> None:
    """Run the worker in the foreground: connectors, REST API and metrics. `start` runs it in the background."""
    from frazil.worker.main import run

    run(Settings.load())
