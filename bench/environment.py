"""Where a comparison runs: a home folder and ports of its own, and the broker and store that all systems share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from frazil.environment.settings import Settings
from frazil.errors import ServiceDied, StackError
from frazil.stack.local import LocalStack
from frazil.stack.ports import is_taken, unused
from frazil.stack.process import minimal_env
from frazil.stack.service import Service

Show = Callable[[str], None]

_PORTS = range(27000, 28000)
_PORT_VARIABLES = (
    "KAFKA_EXTERNAL_PORT",
    "KAFKA_CONTROLLER_PORT",
    "DEST_API_PORT",
    "ICEBERG_CATALOG_PORT",
    "KAFKA_CONNECT_PORT",
    "ACTUATOR_PORT",
    "SOURCE_CONNECT_PORT",
    "AWS_RDS_PORT",
    "SCHEMA_REGISTRY_PORT",
)
# Everything else of the user's environment and `.env` stays out, above all addresses of other brokers and stores.
_DOWNLOADS = ("JAVA_HOME", "XDG_CACHE_HOME", "FRAZIL_CACHE", "FRAZIL_IVY_SETTINGS")
_KEPT = (*_PORT_VARIABLES, *_DOWNLOADS, "SPARK_MASTER", "SPARK_DRIVER_MEMORY")


def isolated_settings(home: Path, **variables: str) -> Settings:
    """Settings with `home` as FRAZIL_HOME and any free ports; `variables` are environment variables on top.

    Nothing of the user's environment counts but the downloads.
    """
    kept = {name: os.environ[name] for name in _DOWNLOADS if name in os.environ}
    names = (*_PORT_VARIABLES, "SOURCE_API_PORT", "TRINO_PORT")
    ports = dict(zip(names, map(str, unused(len(names))), strict=True))
    env = {**minimal_env(os.environ), **kept, **ports, "FRAZIL_HOME": str(home), **variables}
    return Settings.load(env, env_file=Path(os.devnull))


def bench_settings(home: Path, environ: Mapping[str, str], taken: Callable[[int], bool] = is_taken) -> Settings:
    """Settings with `home` and free ports from 27000 to 27999; a port variable in `environ` wins.

    Raises StackError when there are not enough free ports, ConfigError for a variable that cannot be used.
    """
    free = (port for port in _PORTS if not taken(port))
    kept = {name: environ[name] for name in _KEPT if name in environ}
    ports = {name: str(next(free, 0)) for name in _PORT_VARIABLES if name not in kept}
    if "0" in ports.values():
        raise StackError(
            f"fewer than {len(ports)} free ports between {_PORTS.start} and {_PORTS.stop - 1}; nothing was started. "
            f"Free some, or set {', '.join(ports)}."
        )
    env = {**minimal_env(environ), **ports, **kept, "FRAZIL_HOME": str(home), "FRAZIL_ENV_FILE": os.devnull}
    return Settings.load(env)


def with_home(settings: Settings, home: Path) -> Settings:
    """The same addresses for a worker that keeps its files in another folder."""
    return Settings({**settings.env, "FRAZIL_HOME": str(home)})


@contextmanager
def home_folder(parent: str | None, keep_logs: Callable[[], bool]) -> Iterator[Path]:
    """A new folder in `parent` (default: the system's temporary folder), removed at the end.

    After an error, or when `keep_logs` says so, only the data is removed and logs and configuration stay for a look.
    """
    if parent:
        Path(parent).mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="frazil-bench-", dir=parent)).resolve()
    kept = True
    try:
        yield home
        kept = keep_logs()
    except KeyboardInterrupt:
        kept = False
        raise
    finally:
        removed = home / "data" if kept else home
        if removed.exists():
            shutil.rmtree(removed)


@contextmanager
def shared_stack(settings: Settings, show: Show) -> Iterator[None]:
    """Broker, object store and catalog. Raises StackError when they do not start; nothing is left running then."""
    stack = LocalStack(settings)
    stack.start(show)
    try:
        yield
    finally:
        show("stopping broker and store")
        stack.stop()


@contextmanager
def running(service: Service, show: Show) -> Iterator[psutil.Process]:
    """A worker's process, ready to take connectors; it is stopped with its children at the end. Raises StackError."""
    service.start(show)
    try:
        state = service.state()
        if state.pid is None:
            raise ServiceDied(f"{service.name} ended right after its start; see {service.log}")
        yield psutil.Process(state.pid)
    finally:
        show(f"stopping {service.name}")
        service.stop()
