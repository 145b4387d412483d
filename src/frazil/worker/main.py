"""The worker process: Spark driver, connectors, REST and actuator in one."""

import logging
import resource
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from prometheus_client import Metric
from pyspark.sql import SparkSession

from frazil.clients.catalog import connect
from frazil.clients.kafka import client as kafka_client
from frazil.connectors.breakers import Breakers
from frazil.connectors.connector import found_keys, open_connector, open_resolved
from frazil.connectors.iceberg.spark.runtime import IcebergRuntime
from frazil.connectors.registry import connector_of
from frazil.connectors.sink import Sink
from frazil.declare.providers import ConfigProviders, Resolved
from frazil.engine import spark
from frazil.engine.engine import Engine, begin_run
from frazil.engine.maintenance import MaintenanceSchedule, maintainer
from frazil.engine.runner_api import Progress, Runner
from frazil.engine.traces import traces_of
from frazil.environment.settings import Settings
from frazil.environment.spark_options import check_spark
from frazil.environment.worker import WorkerConfig
from frazil.errors import ConfigError, FrazilError, StackError
from frazil.pipeline.mapper import installed_mappers
from frazil.pipeline.report import BatchReport
from frazil.stack.ports import Port, require_different
from frazil.text.events import event
from frazil.worker.actuator.app import scrape_route, serve_actuator
from frazil.worker.actuator.health import connector_states
from frazil.worker.actuator.surroundings import sources_of
from frazil.worker.cluster.group import worker_group
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.store import FileConfigStore
from frazil.worker.lifecycle.topic_entries import TopicEntries
from frazil.worker.pages import Pages, WorkerView, no_pages
from frazil.worker.rest.app import serve_rest
from frazil.worker.rest.forward import Forwarder
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.rest.security.tls import worker_client
from frazil.worker.sources.runtime import SourceRuntime
from frazil.worker.sources.slots import Slots
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.events import EventLog
from frazil.worker.watch.history import History
from frazil.worker.watch.lag import Lags
from frazil.worker.watch.loggers import Loggers
from frazil.worker.watch.logs import log_to_stderr
from frazil.worker.watch.metrics import Metrics
from frazil.worker.watch.metrics_export import metrics_export
from frazil.worker.watch.open_letters import OpenLetters
from frazil.worker.watch.positions import ConnectorPositions

logger = logging.getLogger(__name__)

_CHECK_S = 1.0
_FENCED = 3
"""Restarts in a row after Fenced: the owner before may still have committed its last batch."""


class Worker:
    """Worker, from its start to its end.

    `settings` are those that the worker's configuration says; `topics_file` are the connectors of a topics file.
    """

    def __init__(
        self,
        settings: Settings,
        config: WorkerConfig,
        topics_file: Mapping[str, Mapping[str, str]] | None = None,
        pages: Pages = no_pages,
    ) -> None:
        """Raises PortTaken or ConfigError for what cannot run, ServiceUnavailable when Kafka does not answer."""
        check_spark(settings)
        rest_ports = [Port(listener.port, "KAFKA_CONNECT_PORT (or listeners)") for listener in settings.listeners]
        require_different([*rest_ports, Port(settings.actuator_port, "ACTUATOR_PORT")])
        self._settings = settings
        self._config = config
        self._topics_file = topics_file
        self._pages = pages
        self._history = History()
        self._events = EventLog(settings.home / "worker" / "events.jsonl")
        self._stopping = threading.Event()
        self._session: SparkSession | None = None
        self._engine: Engine | None = None
        self._cluster_id = kafka_client.cluster_id(settings.bootstrap_servers)
        self._providers = ConfigProviders.load(config.properties, settings.env)
        self._providers.keep_out(settings.catalog_properties())
        self._runs = begin_run(settings.home / "worker" / "runs")
        self._breakers = Breakers()
        self._id = f"{config.advertised.host}:{config.advertised.port}"
        self._loggers = Loggers(lambda name, level: spark.set_log_level(self._spark(), name, level))
        bootstrap = settings.bootstrap_servers
        self._group = worker_group(config, bootstrap, self._loggers) if config.group is not None else None
        self._topics = ActiveTopics(
            config.parsed.flag("topic.tracking.enable"),
            config.parsed.flag("topic.tracking.allow.reset"),
            None if self._group is None else self._group.statuses,
        )
        self._herder = self._make_herder()
        self._slots = Slots(self._captured, lambda config: self._providers.resolve(config).config)
        self._sources: SourceRuntime | None = None
        self._metrics = Metrics(
            Lags(bootstrap, self._herder, self._providers, self._progress).look,
            lambda: connector_states(self._herder),
            self._breakers.states,
            self._herder.restarts,
            lambda: self._slots.seen,
            self._source_metrics,
            self._events.counts,
            settings.home,
        )
        runtime = IcebergRuntime(self._spark, settings, logger.info)
        self._maintenance = MaintenanceSchedule(maintainer(runtime), self._metrics.observe_maintenance)

    def run(self) -> None:
        """Run until `stop`; returns when every connector has stopped between two batches.

        Raises PortTaken, JavaNotFound or ServiceUnavailable when the worker cannot start, StackError when the JVM ends;
        connectors go on from their stored positions at the next start.
        """
        log_to_stderr(self._providers, self._events, json_lines=self._settings.log_json)
        allow_open_files()
        if self._config.warning is not None:
            logger.warning("%s", self._config.warning)
        _tell_mappers([found.name for found in installed_mappers()])
        settings, group = self._settings, self._group
        traces = traces_of(settings.env, self._id, self._providers.hide)
        exported = metrics_export(settings.env, self._id, self._metrics.collect)
        properties = self._providers.resolve(self._config.properties).config
        forwarder = None if group is None else Forwarder(group, self._id, lambda: worker_client(properties))
        sources = self._sources = self._make_sources(properties)
        pages = self._pages(self._view())
        rest = serve_rest(
            self._herder,
            self._info(),
            settings.listeners,
            properties,
            settings.env,
            sources,
            forwarder,
            [*pages, scrape_route(self._metrics)],
            home=pages[0].path if pages else "",
        )
        actuator = serve_actuator(
            self._herder,
            self._metrics,
            self._checks(),
            settings.actuator_port,
            properties,
            self._loggers,
            sources_of(settings.env, self._config.properties),
        )
        try:
            self._session = spark.start(settings)
            self._engine = Engine(self._session, self._observe, self._maintenance, self._breakers, self._runs, traces)
            self._engine.warm_up()
            self._herder.start(lambda: None if group is None else group.join(self._herder))
            if self._topics_file is not None:
                entries = TopicEntries(self._herder, self._topics_file, settings, settings.bootstrap_servers)
                entries.keep(self._stopping, lambda: group is None or group.leads)
            sources.start()
            self._slots.start()
            if exported is not None:
                exported.start()
            ports = rest[0].port, actuator.port
            logger.info("worker ready: REST on port %d, actuator on port %d", *ports, extra=event("worker ready"))
            self._wait(self._session)
            logger.info("stopping: running batches are finished first", extra=event("worker stops"))
            self._maintenance.close()
            self._herder.close()
        finally:
            for server in (*rest, actuator):
                server.stop()
            if group is not None and forwarder is not None:
                forwarder.close()
                group.close()
            self._slots.close()
            sources.close()
            if self._engine is not None:
                self._engine.close()
            if traces is not None:
                traces.close()
            if exported is not None:
                exported.close()
            if self._session is not None:
                spark.stop(self._session)

    def stop(self) -> None:
        """Let `run` return; any thread and any signal handler may call it."""
        self._stopping.set()

    def stop_on_signals(self) -> None:
        """Stop on SIGTERM, SIGINT and SIGHUP; for the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
                signal.signal(number, lambda *_: self.stop())

    def _make_herder(self) -> Herder:
        group = self._group
        return Herder(
            FileConfigStore(self._settings.home / "worker" / "connectors.json") if group is None else group.configs,
            self._runner,
            self._id,
            RestartPolicy(fenced=0 if group is None else _FENCED),
            self._providers,
            None if group is None else group.statuses,
            self._settings,
            self._config.with_converters,
            self._refusals,
            self._obstacles,
            lambda name, config: found_keys(
                name, self._config.with_converters(config), self._settings, self._providers
            ),
        )

    def _captured(self) -> dict[str, dict[str, str]]:
        """Configurations of the source connectors that run here."""
        sources = self._sources
        found = sources.connectors() if sources is not None and sources.here else {}
        return {name: entry["info"]["config"] for name, entry in found.items()}

    def _source_metrics(self) -> Sequence[Metric]:
        return () if self._sources is None else self._sources.metrics()

    def _refusals(self, name: str, config: Mapping[str, str]) -> list[str]:
        """Refusals of the store; none while it cannot be asked, which the connector tells when it starts."""
        if not connector_of(config).asks_store(config):
            return []
        return self._asked(name, config, lambda sink: sink.refusals())

    def _obstacles(self, config: Mapping[str, str]) -> list[str]:
        """Reasons why a connector could not run here: a file, module or certificate that this worker lacks."""
        whole = self._config.with_converters(config)
        return self._asked(config.get("name", ""), whole, lambda sink: sink.obstacles(), ConfigError)

    def _asked(
        self, name: str, config: Mapping[str, str], ask: Callable[[Sink], list[str]], *told: type[FrazilError]
    ) -> list[str]:
        """Ask the sink of a connector that may not run yet; errors of classes `told` are answers, others are logged."""
        try:
            with open_connector(name, config, self._settings, self._providers).hiding() as sink:
                return ask(sink)
        except told as error:
            return [str(error)]
        except FrazilError as error:
            logger.info("connector %s could not be asked for what keeps it from running: %s", name, error)
            return []

    def _make_sources(self, properties: Mapping[str, str]) -> SourceRuntime:
        group = self._group
        if group is None:
            return SourceRuntime(self._settings, properties)
        silence_s = self._config.parsed.number("session.timeout.ms") / 1000
        return SourceRuntime(self._settings, properties, lambda: group.leads, silence_s)

    def _info(self) -> WorkerInfo:
        return WorkerInfo(
            self._cluster_id,
            ConnectorPositions(self._settings, self._providers),
            self._topics,
            self._loggers,
            None if self._group is None else self._group.configs.set_logger,
            events=self._events,
        )

    def _view(self) -> WorkerView:
        return WorkerView(
            self._settings,
            self._herder,
            self._history,
            OpenLetters(self._settings.bootstrap_servers, lambda: [info.config for info in self._herder.infos()]).known,
            lambda what: self._started().jobs(what),
            self._progress,
            self._breakers.states,
            lambda: self._slots.seen,
            self._source_metrics,
            self._maintenance,
            self._cluster_id,
            dict if self._group is None else self._group.workers,
            self._stopping,
        )

    def _runner(self, name: str, resolved: Resolved, changed: Callable[[], None]) -> Runner:
        whole = replace(resolved, config=self._config.with_converters(resolved.config))
        return self._started().runner(open_resolved(name, whole, self._settings), changed)

    def _progress(self, name: str) -> Progress | None:
        return None if self._engine is None else self._engine.progress(name)

    def _started(self) -> Engine:
        if self._engine is None:
            raise StackError("the worker is still starting up")
        return self._engine

    def _observe(self, report: BatchReport) -> None:
        self._metrics.observe(report)
        self._history.observe(report)
        self._topics.observe(report)

    def _spark(self) -> SparkSession:
        if self._session is None:
            raise StackError("the worker is still starting up")
        return self._session

    def _checks(self) -> Mapping[str, Callable[[], None]]:
        def answers() -> None:
            kafka_client.cluster_id(self._settings.bootstrap_servers, timeout=3)

        def connects() -> None:
            connect(self._settings.catalog_properties())

        return {"kafka": answers, "catalog": connects}

    def _wait(self, session: SparkSession) -> None:
        while not self._stopping.wait(_CHECK_S):
            if spark.ended(session):
                raise StackError(
                    "Spark has ended, its JVM or its application on the cluster; the worker ends too. Nothing is lost: "
                    "connectors go on from their positions when it is started again. The log above has Spark's last "
                    "words."
                )


def allow_open_files() -> None:
    """Let the worker and its children open as many files as the system allows; each connector takes some."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _tell_mappers(names: Sequence[str]) -> None:
    """Say what maps and redacts records: an installation that is not renewed may have lost its entry points."""
    if names:
        logger.info("record mappers: %s", ", ".join(names))
        return
    logger.warning(
        "no record mapper is installed, so no record is redacted; install frazil anew (`make env`) if that is not meant"
    )
