"""The worker process: Spark driver, connectors, REST and actuator in one."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Mapping

from pyspark.sql import SparkSession

from frazil.clients.catalog import connect
from frazil.clients.kafka import admin as kafka
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime
from frazil.connectors.registry import sink_kind
from frazil.declare.providers import ConfigProviders
from frazil.engine import spark as spark_session
from frazil.engine.breakers import Breakers
from frazil.engine.maintenance import MaintenanceSchedule, maintainer
from frazil.engine.object_runner import ObjectRunner
from frazil.engine.runner import StreamingRunner
from frazil.engine.runner_api import Runner
from frazil.engine.runs import begin_run
from frazil.engine.tasks import run_works
from frazil.environment.settings import Settings
from frazil.environment.spark_options import check_spark
from frazil.environment.worker import WorkerConfig
from frazil.errors import StackError
from frazil.pipeline.report import BatchReport
from frazil.stack.ports import Port, require_different
from frazil.worker.actuator.app import serve_actuator
from frazil.worker.actuator.health import connector_states
from frazil.worker.cluster.build import worker_group
from frazil.worker.lifecycle.actor import RestartPolicy
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.lifecycle.topic_entries import TopicEntries
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.rest.security.tls import worker_client
from frazil.worker.rest.serve import serve_rest
from frazil.worker.sources.runtime import SourceRuntime
from frazil.worker.watch.lag import lag_of_all
from frazil.worker.watch.loggers import Loggers
from frazil.worker.watch.logs import log_to_stderr
from frazil.worker.watch.metrics import Metrics
from frazil.worker.watch.positions import ConnectorPositions
from frazil.worker.watch.topics import ActiveTopics

logger = logging.getLogger(__name__)

_CHECK_S = 1.0
_FENCED = 3
"""So often in a row the worker before may have been the one that stored what a connector has read."""


def run(settings: Settings, worker: WorkerConfig, topics_file: Mapping[str, Mapping[str, str]] | None = None) -> None:
    """Run until SIGTERM, SIGINT or SIGHUP; returns when every connector has stopped between two batches.

    `settings` are those that the worker's configuration says; `topics_file` are the connectors of a topics file.

    Raises PortTaken, JavaNotFound, ServiceUnavailable or ConfigError when the worker cannot start, StackError when
    the JVM ends; connectors go on from their tables at the next start.
    """
    check_spark(settings)
    rest_ports = [Port(listener.port, "KAFKA_CONNECT_PORT (or listeners)") for listener in settings.listeners]
    require_different([*rest_ports, Port(settings.actuator_port, "ACTUATOR_PORT")])
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, lambda *_: stop.set())
    bootstrap = settings.bootstrap_servers
    cluster_id = kafka.cluster_id(bootstrap)
    session: list[SparkSession] = []
    busy: dict[str, threading.Lock] = {}
    breakers = Breakers()
    providers = ConfigProviders.load(worker.properties, settings.env)
    providers.keep_out(settings.catalog_properties())
    runs = begin_run(settings.home / "worker" / "runs")
    log_to_stderr(providers)
    if worker.warning is not None:
        logger.warning("%s", worker.warning)
    worker_id = f"{worker.advertised.host}:{worker.advertised.port}"
    loggers = Loggers(lambda name, level: spark_session.set_log_level(session[0], name, level))
    group = worker_group(worker, bootstrap, loggers) if worker.group is not None else None
    topics = ActiveTopics(
        worker.parsed.flag("topic.tracking.enable"),
        worker.parsed.flag("topic.tracking.allow.reset"),
        None if group is None else group.statuses,
    )
    properties = providers.resolve(worker.properties).config

    def observe(report: BatchReport) -> None:
        metrics.observe(report)
        topics.observe(report)

    def runner(name: str, config: Mapping[str, str]) -> Runner:
        lock = busy.setdefault(name, threading.Lock())
        whole = worker.with_converters(config)
        if sink_kind(whole) == "objects":
            return ObjectRunner(session[0], settings, name, whole, observe, lock, breakers)
        return StreamingRunner(session[0], settings, name, whole, observe, lock, maintenance, runs)

    herder = Herder(
        FileConfigStore(settings.home / "worker" / "connectors.json") if group is None else group.configs,
        runner,
        worker_id,
        RestartPolicy(fenced=0 if group is None else _FENCED),
        providers,
        None if group is None else group.statuses,
        worker.with_converters,
    )
    forwarder = None if group is None else Forwarder(group, worker_id, lambda: worker_client(properties))
    metrics = Metrics(
        lambda: lag_of_all(bootstrap, herder, providers), lambda: connector_states(herder), breakers.states
    )
    runtime = IcebergRuntime(lambda: session[0], settings, logger.info)
    maintenance = MaintenanceSchedule(maintainer(runtime), metrics.observe_maintenance)
    sources = SourceRuntime(settings, properties)
    if group is not None:
        silence_s = worker.parsed.number("session.timeout.ms") / 1000
        sources = SourceRuntime(settings, properties, lambda: group.leads, silence_s)
    info = WorkerInfo(
        cluster_id,
        ConnectorPositions(settings, providers),
        topics,
        loggers,
        None if group is None else group.configs.set_logger,
    )
    checks = {
        "kafka": lambda: _answers(bootstrap),
        "catalog": lambda: _connects(settings.catalog_properties()),
    }
    rest = serve_rest(herder, info, settings.listeners, properties, settings.env, sources, forwarder)
    actuator = serve_actuator(herder, metrics, checks, settings.actuator_port, properties)
    try:
        session.append(spark_session.start(settings, logger.info))
        _warm_up(session[0])
        herder.start(lambda: None if group is None else group.join(herder))
        if topics_file is not None:
            TopicEntries(herder, topics_file, settings, bootstrap).keep(stop, lambda: group is None or group.leads)
        sources.start()
        logger.info("worker ready: REST on port %d, actuator on port %d", rest[0].port, actuator.port)
        while not stop.wait(_CHECK_S):
            if spark_session.ended(session[0]):
                raise StackError(
                    "Spark has ended, its JVM or its application on the cluster; the worker ends too. Nothing is lost: "
                    "connectors go on from their positions when it is started again. The log above has Spark's last "
                    "words."
                )
        logger.info("stopping: running batches are finished first")
        maintenance.close()
        herder.close()
    finally:
        for server in (*rest, actuator):
            server.stop()
        if group is not None and forwarder is not None:
            forwarder.close()
            group.close()
        sources.close()
        if session:
            spark_session.stop(session[0])


def _warm_up(session: SparkSession) -> None:
    """Start the Python workers, so that the first batch does not pay for them."""
    run_works(session, [_stay] * session.sparkContext.defaultParallelism)


def _stay() -> bytes:
    time.sleep(0.2)  # all workers are to be busy at once, so that there is one for each core
    return b""


def _answers(bootstrap: str) -> None:
    kafka.cluster_id(bootstrap, timeout=3)


def _connects(properties: Mapping[str, str]) -> None:
    connect(properties)
