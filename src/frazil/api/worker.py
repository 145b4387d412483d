"""A worker in the program that asks for one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from frazil.connectors.topics.topic_connectors import topic_connectors
from frazil.console.app import console_routes
from frazil.environment.settings import Settings
from frazil.environment.worker import WorkerConfig
from frazil.worker.main import Worker as Process


class Worker(Process):
    """Connectors, REST and metrics on a Spark session of its own; `run` blocks until `stop` is called."""

    @classmethod
    def from_env(
        cls,
        properties: str | Path | None = None,
        topics: str | Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Worker:
        """The worker that the environment describes, and `.env`, as the verb `worker` runs it.

        `properties` is a file in the form of Kafka Connect's worker.properties, `topics` a YAML file with topics to
        store in S3; `env` takes the place of the process' environment. Raises ConfigError for what cannot run,
        ServiceUnavailable when Kafka does not answer.
        """
        settings = Settings.load(env)
        config = WorkerConfig.load(settings, None if properties is None else Path(properties))
        settings = config.settings(settings)
        file = settings.topics_file if topics is None else Path(topics)
        connectors = None if file is None else topic_connectors(file, settings)
        return cls(settings, config, connectors, console_routes)
