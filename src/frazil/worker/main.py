"""The worker process: Spark driver, connectors, REST and actuator in one."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterable, Mapping

import pyarrow as pa
from pyspark.sql import SparkSession

from frazil.clients import kafka
from frazil.clients.catalog import connect
from frazil.config.providers import ConfigProviders
from frazil.config.settings import LOOPBACK, Settings
from frazil.errors import StackError
from frazil.pipeline.report import BatchReport
from frazil.pipeline.task import RESULT_DDL
from frazil.sinks.iceberg.runtime import IcebergRuntime
from frazil.worker import spark as spark_session
from frazil.worker.actuator.app import actuator_app
from frazil.worker.actuator.health import connector_states
from frazil.worker.app import serve
from frazil.worker.herder import Herder
from frazil.worker.lag import lag_of_all
from frazil.worker.loggers import Loggers
from frazil.worker.logs import log_to_stderr
from frazil.worker.maintenance import MaintenanceSchedule, maintainer
from frazil.worker.metrics import Metrics
from frazil.worker.positions import ConnectorPositions
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.runner import StreamingRunner
from frazil.worker.runner_api import Runner
from frazil.worker.store import FileConfigStore
from frazil.worker.topics import ActiveTopics

logger = logging.getLogger(__name__)

_CHECK_S = 1.0


def run(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT; returns when every connector has stopped between two batches.

    Raises PortTaken, JavaNotFound, ServiceUnavailable or ConfigError when the worker cannot start, StackError when
    the JVM ends; connectors go on from their tables at the next start.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    bootstrap = settings.bootstrap_servers
    cluster_id = kafka.cluster_id(bootstrap)
    session: list[SparkSession] = []
    providers = ConfigProviders.load(settings.config_providers, settings.env)
    log_to_stderr(providers)
    topics = ActiveTopics(settings.topic_tracking, settings.topic_tracking_reset)

    def observe(report: BatchReport) -> None:
        metrics.observe(report)
        topics.observe(report)

    def runner(name: str, config: Mapping[str, str]) -> Runner:
        return StreamingRunner(session[0], settings, name, config, observe, maintenance)

    herder = Herder(
        FileConfigStore(settings.home / "worker" / "connectors.json"),
        runner,
        f"{LOOPBACK}:{settings.connect_port}",
        providers=providers,
    )
    metrics = Metrics(lambda: lag_of_all(bootstrap, herder, providers), lambda: connector_states(herder))
    runtime = IcebergRuntime(lambda: session[0], settings, logger.info)
    maintenance = MaintenanceSchedule(maintainer(runtime), metrics.observe_maintenance)
    loggers = Loggers(lambda name, level: spark_session.set_log_level(session[0], name, level))
    info = WorkerInfo(cluster_id, ConnectorPositions(settings, providers), topics, loggers)
    checks = {
        "kafka": lambda: _answers(bootstrap),
        "catalog": lambda: _connects(settings.catalog_properties()),
    }
    rest = serve(rest_app(herder, info), LOOPBACK, settings.connect_port, "KAFKA_CONNECT_PORT")
    actuator = serve(actuator_app(herder, metrics, checks), LOOPBACK, settings.actuator_port, "ACTUATOR_PORT")
    try:
        session.append(spark_session.start(settings, logger.info))
        _warm_up(session[0])
        herder.start()
        logger.info("worker ready: REST on port %d, actuator on port %d", rest.port, actuator.port)
        while not stop.wait(_CHECK_S):
            if spark_session.ended(session[0]):
                raise StackError(
                    "the JVM of Spark has ended; the worker ends too. Nothing is lost: connectors go on from the "
                    "positions in their tables when it is started again. The log above has the JVM's last words."
                )
        logger.info("stopping: running batches are finished first")
        maintenance.close()
        herder.close()
    finally:
        rest.stop()
        actuator.stop()
        if session and not spark_session.ended(session[0]):
            session[0].stop()


def _warm_up(session: SparkSession) -> None:
    """Start the Python workers, so that the first batch does not pay for them."""
    cores = session.sparkContext.defaultParallelism
    session.range(0, cores, numPartitions=cores).mapInArrow(_stay, RESULT_DDL).collect()


def _stay(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    for _ in batches:
        time.sleep(0.2)  # both workers are to be busy at once, so that there are two
    return iter(())


def _answers(bootstrap: str) -> None:
    kafka.cluster_id(bootstrap, timeout=3)


def _connects(properties: Mapping[str, str]) -> None:
    connect(properties)
