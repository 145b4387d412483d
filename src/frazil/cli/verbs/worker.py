"""The verb `worker`: the worker process in the foreground."""

import os
from pathlib import Path
from typing import Annotated

import typer

from frazil.cli.ui.program import verb
from frazil.environment.private_file import MASK


@verb(
    "worker",
    "worker worker.properties  # a member of its group.id",
    "worker --topics topics.yaml  # with a connector for each topic of the file",
    "start worker  # the same in the background",
    "logs worker -f",
)
def worker(
    properties: Annotated[
        Path | None, typer.Argument(help="Configuration in the form of Kafka Connect's worker.properties.")
    ] = None,
    topics: Annotated[
        Path | None, typer.Option("--topics", help="YAML file with topics to store in S3; each becomes a connector.")
    ] = None,
) -> None:
    """Run the worker in the foreground: connectors, REST, metrics.

    With group.id in PROPERTIES, or in the variable CONNECT_GROUP_ID, it is one of a group of workers that share their
    connectors. `start` runs it in the background. Ctrl+C ends it after the running batches.

    The connectors of --topics are those of the file at each start: new ones are made, changed ones changed, and those
    whose entry is gone deleted. Other connectors are left alone.
    """
    from frazil.api.worker import Worker
    from frazil.cli.verbs.stack import worker_service
    from frazil.environment.private_file import private_home
    from frazil.environment.settings import Settings

    os.umask(MASK)
    running = Worker.from_env(properties, topics)
    running.stop_on_signals()
    settings = Settings.load()
    private_home(settings.home)
    with worker_service(settings).process_file.of_this_process():
        running.run()
