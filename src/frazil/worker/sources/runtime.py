"""The Kafka Connect runtime that runs source connectors: a child of this worker, or a cluster of the user's."""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
from prometheus_client import Metric

from frazil.connectors.debezium_keys import with_cures
from frazil.environment.bootstrap import CLIENTS, Bootstrap
from frazil.environment.private_file import write_private
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import FrazilError, ServiceUnavailable
from frazil.stack.connect import sources_service
from frazil.stack.plugins import plugin_folder
from frazil.stack.service import Status
from frazil.stack.tether import Tether
from frazil.worker.sources.metrics import SourceMetrics
from frazil.worker.sources.plugin_path import Plugin, find_plugins
from frazil.worker.sources.restarts import SourceRestarts
from frazil.worker.sources.stored import stored_connectors

logger = logging.getLogger(__name__)

_CHECK_S, _LOOK_S = 2.0, 10.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
_HEALTHY_S = 60.0
_PASSED_ON = ("key.converter", "value.converter", "header.converter", "config.providers", "plugin.", "offset.flush.")
_REQUEST_S = 80.0
"""Seconds that a request waits for the start: clients give up after 90."""
_TIMEOUT = httpx.Timeout(90.0, connect=5.0)


class SourceRuntime:
    """Runtime of source connectors, a child of this worker. It is started with the first connector, and again when it
    has ended; it ends with this worker, however that ends. Its tasks that have failed are started again.

    The worker of a group that leads it has the child, and no other one. With `SOURCE_CONNECT_URL` a cluster of the
    user's is asked instead, and never started or stopped. `url` is where the REST API of the runtime is.
    """

    def __init__(
        self,
        settings: Settings,
        properties: Mapping[str, str],
        leads: Callable[[], bool] = lambda: True,
        silence_s: float | None = None,
    ) -> None:
        """`leads` tells whether this worker is to have the child; a worker of a group that was silent for `silence_s`
        seconds has lost it."""
        self._settings = settings
        self._external = settings.source_connect_url
        self._leads = leads
        self._group = f"{properties.get('group.id', '').strip() or 'frazil'}-sources"
        self._own_path = properties.get("plugin.path", "").strip()
        self._metrics = SourceMetrics(settings)
        own = runtime_properties(settings, properties, self._group)
        self._service = sources_service(settings, own, self._metrics.options)
        self._tether = Tether(self._service, settings.env, silence_s)
        self._found_at_start: list[Plugin] | None = None
        self.url = self._external or f"http://{LOOPBACK}:{settings.source_connect_port}"
        self._http = httpx.Client(base_url=self.url, timeout=_TIMEOUT, trust_env=False)
        self._restarts, self._look_s = SourceRestarts(self.call), 0.0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._supervise, name="sources", daemon=True)
        self._memory = settings.home / "worker" / "sources.json"
        self._seen: dict[str, Any] = self._remembered()
        self._wanted = bool(self._external)
        self._answers = False
        self._step = ""
        self._starter = ThreadPoolExecutor(1, "start-sources")
        self._starting: Future[None] | None = None

    @property
    def here(self) -> bool:
        """Whether this worker asks the runtime itself; if not, the leader of its group does."""
        return bool(self._external) or self._leads()

    @property
    def possible(self) -> bool:
        """Whether there are plugins for a runtime."""
        return bool(self._external or self._own_path or plugin_folder(self._settings).is_dir())

    @property
    def pid(self) -> int | None:
        """Process id of the child; None when it does not run."""
        return self._service.state().pid

    def metrics(self) -> Sequence[Metric]:
        """Metrics of the connectors of the child; none while it does not run. Raises ServiceUnavailable."""
        return self._metrics.read() if self.pid is not None else ()

    def start(self) -> None:
        """Start the child, now and whenever this worker becomes the one that has it, when connectors of an earlier run
        are stored in Kafka; returns at once."""
        if not self._external:
            self._watch.start()

    def ensure(self, plugin: str = "") -> None:
        """Return when the runtime answers; the child is started first when it does not run.

        It reads its plugins at its start, so it is started anew when `plugin`, a class name or alias, has come since.
        Raises StackError, which says why it cannot run, or ServiceUnavailable, also when its start takes longer than a
        request may; it goes on.
        """
        if self._external:
            return
        self._await_start()
        if not plugin or self._found_at_start == self.plugins():
            return
        if not any(one.is_called(plugin) for one in self._told_plugins()):
            logger.info("the runtime of source connectors is started anew: %s was installed meanwhile", plugin)
            with self._lock:
                self._service.stop()
            self._await_start()

    def _await_start(self) -> None:
        with self._lock:
            self._check_open()
            self._wanted = True
            self._tether.hold()
            if self._starting is None or self._starting.done():
                self._starting = self._starter.submit(self._start)
            starting = self._starting
            if not self._watch.is_alive():
                self._watch.start()
        try:
            starting.result(_REQUEST_S)
        except TimeoutError:
            raise self._unavailable(f"it starts, {self._step}") from None

    def close(self) -> None:
        """Stop the child; its connectors go on from their offsets at the next start."""
        self._closing.set()
        self._starter.shutdown()
        with self._lock:
            if not self._external:
                self._service.stop()
        self._tether.close()
        if self._watch.is_alive():
            self._watch.join(5)
        self._http.close()

    def plugins(self) -> list[Plugin]:
        """Connector classes that the runtime has; those of the child are read from `plugin.path`."""
        if not self._external:
            return find_plugins(plugin_path(self._settings, self._own_path))
        return self._told_plugins()

    def _told_plugins(self) -> list[Plugin]:
        return [
            Plugin(str(entry["class"]), str(entry["type"]), entry.get("version"))
            for entry in self.call("GET", "/connector-plugins").json()
        ]

    def connectors(self) -> dict[str, Any]:
        """Every connector with `info` and `status` by name; what was seen last, as UNASSIGNED, while it is down."""
        if not self._wanted:
            return self.seen()
        try:
            info, status = (self.call("GET", f"/connectors?expand={what}") for what in ("info", "status"))
            self._answers = info.is_success and status.is_success  # while it starts, every path is 404
        except ServiceUnavailable:
            self._answers = False
        if not self._answers:
            return self.seen()
        # A connector that was created a moment ago has no status yet.
        found = {name: _unassigned(entry) | _status(status.json().get(name, {})) for name, entry in info.json().items()}
        self.saw(found)
        return found

    def seen(self) -> dict[str, Any]:
        """The connectors that were there when the runtime answered last, as UNASSIGNED."""
        return {name: _unassigned(entry) for name, entry in self._seen.items()}

    def saw(self, found: dict[str, Any]) -> None:
        """Remember what the runtime, or the worker that asks it, has just told of its connectors."""
        changed = found.keys() != self._seen.keys()
        self._seen = found
        if changed:
            write_private(self._memory, json.dumps(found))

    def forget(self, name: str) -> None:
        """Forget a connector that the runtime has just deleted."""
        self.saw({known: entry for known, entry in self._seen.items() if known != name})

    def require(self) -> None:
        """Raise ServiceUnavailable when the runtime did not answer the last `connectors`."""
        if not self._answers:
            raise self._unavailable("it is starting")

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Send a request as it is; raises ServiceUnavailable when the runtime does not answer."""
        try:
            return self._http.request(method, path, content=body, headers=dict(headers or {}))
        except httpx.HTTPError as error:
            raise self._unavailable(type(error).__name__) from None

    def _unavailable(self, reason: str) -> ServiceUnavailable:
        what = f"at {self._external}" if self._external else "of this worker, which is started again by itself,"
        return ServiceUnavailable(
            f"the Kafka Connect runtime {what} does not answer ({reason}). Nothing was changed; try again in a moment"
        )

    def _remembered(self) -> dict[str, Any]:
        """The connectors that were there before the worker was started again, until the runtime answers."""
        try:
            found = json.loads(self._memory.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return {}  # the runtime has all of it
        return found if isinstance(found, dict) and not self._external else {}

    def _start(self) -> None:
        if self._service.start(self._go_on):
            self._found_at_start = self.plugins()
            logger.info("the runtime of source connectors is up on port %d", self._settings.source_connect_port)

    def _go_on(self, step: str) -> None:
        """Log a step of the start, once. Raises as `_check_open` does."""
        self._check_open()
        if step != self._step:
            self._step = step
            logger.info("%s", step)

    def _check_open(self) -> None:
        """Raise ServiceUnavailable when the worker shuts down."""
        if self._closing.is_set():
            raise ServiceUnavailable("the worker is shutting down; repeat the request when it runs again")

    def resume(self) -> bool:
        """Start the child when connectors are stored in Kafka; whether there are any. Raises as `ensure` does."""
        stored = stored_connectors(self._settings.bootstrap_servers, f"{self._group}-configs")
        self.saw({name: entry for name, entry in self._seen.items() if name in stored})
        if stored:
            self.ensure()
        return bool(stored)

    def _end(self) -> None:
        self._wanted = self._answers = False
        self._service.stop()

    def _supervise(self) -> None:
        """Start the child when this worker is to have it, and again when it has ended by itself, waiting longer each
        time that it does not stay up; end it when another worker has it."""
        wait, since, led = _FIRST_WAIT_S, time.monotonic(), self._wanted
        while True:
            leads, begun = self._leads(), time.monotonic()
            try:
                tried = self._care(leads, led)
                led = leads
            except Exception as error:
                tried = True
                known = isinstance(error, FrazilError)
                logger.error("the runtime of source connectors is not up: %s", error, exc_info=not known)
            if tried and begun - since > _HEALTHY_S:
                wait = _FIRST_WAIT_S
            if self._closing.wait(wait if tried else _CHECK_S):
                return
            if tried:
                wait, since = min(2 * wait, _LONGEST_WAIT_S), time.monotonic()

    def _care(self, leads: bool, led: bool) -> bool:
        """Start or end the child as is due; true when it had ended by itself and was started again."""
        status = self._service.state().status
        if not leads:
            if status != Status.STOPPED:
                logger.info("another worker of the group runs the source connectors; those of this worker stop")
                with self._lock:
                    self._end()
        elif not led:
            self.resume()
        elif self._wanted and status in (Status.DIED, Status.STOPPED) and not self._closing.is_set():
            logger.error("the runtime of source connectors has ended; it is started again. See %s", self._service.log)
            self.ensure()
            return True
        elif status == Status.RUNNING and time.monotonic() > self._look_s + _LOOK_S:
            self._look_s = time.monotonic()
            self._restarts.look(self._look_s)
        return False


def plugin_path(settings: Settings, own: str) -> str:
    """The folders with plugins, separated by commas: those of the worker's `plugin.path`, and the home's."""
    return ",".join(filter(None, (own, str(plugin_folder(settings)))))


def runtime_properties(settings: Settings, properties: Mapping[str, str], group: str) -> dict[str, str]:
    """Keys of the child's worker: JSON without schemas unless this worker's keys say otherwise, loopback only."""
    bootstrap = settings.bootstrap_servers
    converter = "org.apache.kafka.connect.json.JsonConverter"
    return {
        "key.converter": converter,
        "key.converter.schemas.enable": "false",
        "value.converter": converter,
        "value.converter.schemas.enable": "false",
        "offset.flush.interval.ms": "5000",  # Debezium takes its snapshot once more if it is killed before the first
        **{key: value for key, value in properties.items() if key.startswith(_PASSED_ON)},
        **_security(bootstrap),
        "plugin.path": plugin_path(settings, properties.get("plugin.path", "").strip()),
        "bootstrap.servers": str(bootstrap),
        "group.id": group,
        "config.storage.topic": f"{group}-configs",
        "offset.storage.topic": f"{group}-offsets",
        "status.storage.topic": f"{group}-status",
        **{f"{topic}.storage.replication.factor": "-1" for topic in ("config", "offset", "status")},
        "scheduled.rebalance.max.delay.ms": "0",  # there is one of them, so what it has left nobody else waits for
        "listeners": f"http://{LOOPBACK}:{settings.source_connect_port}",
    }


def _security(bootstrap: Bootstrap) -> dict[str, str]:
    """Keys for the access to Kafka: bare ones for Connect's worker, prefixed ones for the clients of its connectors."""
    own = dict(bootstrap.settings("admin"))
    prefixed = {f"{kind}.{key}": value for kind in CLIENTS for key, value in bootstrap.settings(kind).items()}
    return {**own, **prefixed}


def _status(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry of a connector with what to do about a failure that is known."""
    return {**entry, "status": with_cures(entry["status"])} if "status" in entry else entry


def _unassigned(entry: Any) -> Any:
    """The entry of a connector as UNASSIGNED, with its `info`."""
    info = entry["info"]
    connector = {"state": "UNASSIGNED", "worker_id": ""}
    return {
        "info": info,
        "status": {"name": info["name"], "connector": connector, "tasks": [], "type": info["type"]},
    }
