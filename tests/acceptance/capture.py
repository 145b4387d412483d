"""PostgreSQL and Debezium beside a worker, and connectors that follow tables of the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from pyiceberg.exceptions import NoSuchTableError

from frazil.cdc.compare import Comparison
from frazil.cli.verbs import stack as stack_verbs
from frazil.cli.verbs.demo_cdc import connectors
from frazil.cli.verbs.verify_database import compared
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import topics as kafka_topics
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotFound, ServiceDied
from frazil.stack.connect import sources_service
from frazil.stack.local import LocalStack
from frazil.stack.plugins import install_plugin
from frazil.stack.service import Service
from tests.harness import state_of
from tests.isolation import isolated_settings
from tests.waits import PATIENCE_S, eventually

SOURCE, SINK = "shop-source", "shop-tables"

Wanted = dict[str, dict[str, str]]


@contextmanager
def debezium(home: Path) -> Iterator[Settings]:
    """A stack of its own with PostgreSQL and Debezium until the end of the block."""
    settings = isolated_settings(home)
    try:
        for service in services(settings):
            service.start(lambda text: None)
        install_plugin(settings, "debezium-postgres", lambda text: None)
        yield settings
    finally:
        for service in [sources_service(settings, {}), *reversed(services(settings))]:
            service.stop()
        LocalStack(settings).clean()


def services(settings: Settings) -> list[Service]:
    return [*stack_verbs.with_postgres(settings), *stack_verbs.services(settings)]


def following(settings: Settings, name: str, **of_source: str) -> Wanted:
    """Connectors that follow the table `public.NAME` of the database, `NAME-source` and `NAME-table`."""
    demo = connectors(settings)
    own = {"topic.prefix": name, "table.include.list": f"public.{name}", "slot.name": name, "publication.name": name}
    sink = {key: value for key, value in demo[SINK].items() if not key.startswith(("transforms", "frazil.t"))}
    sink |= {"topics": f"{name}.public.{name}", "iceberg.tables": f"captured.{name}"}
    return {f"{name}-source": demo[SOURCE] | own | of_source, f"{name}-table": sink}


def deployed(settings: Settings, wanted: Mapping[str, dict[str, str]], partitions: int = 3) -> None:
    """Make topics, and connectors that run."""
    topics = next(config["topics"] for config in wanted.values() if "topics" in config)
    kafka_topics.ensure_topics(settings.bootstrap_servers, {name: (partitions, {}) for name in topics.split(",")})
    with ConnectClient(settings.connect_access) as client:
        for name, config in wanted.items():
            eventually(lambda name=name, config=config: took(client, name, config))  # type: ignore[misc]
            eventually(lambda name=name: runs(client, name))  # type: ignore[misc]


def only(settings: Settings, wanted: Wanted, access: Mapping[str, Any] | None = None) -> Comparison:
    """The one table of the connectors beside that of the database."""
    sinks = {name: config for name, config in wanted.items() if "iceberg.tables" in config}
    [found] = compared(settings, sinks, access or settings.postgres_access(), lambda text: None)
    return found


def equal(settings: Settings, wanted: Wanted, access: Mapping[str, Any] | None = None) -> bool:
    """Whether the table is there and has the rows of the database."""
    with suppress(FrazilError, NoSuchTableError):
        return only(settings, wanted, access).equal
    return False


def took(client: ConnectClient, name: str, config: dict[str, str]) -> bool:
    with suppress(FrazilError):
        client.put_config(name, config)
        return True
    return False


def runs(client: ConnectClient, name: str) -> bool:
    try:
        return state_of(client.status(name)) == "RUNNING"
    except NotFound:  # a runtime that has taken a source connector has no status of it at first
        return False


def kill(service: Service) -> None:
    """SIGKILL to the process of a service; what it has started ends by itself."""
    pid = service.state().pid
    if pid is not None:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        process.kill()
        assert psutil.wait_procs(family, timeout=PATIENCE_S)[1] == []


def again(service: Service) -> bool:
    """Start it, also while something of the one before is still there."""
    with suppress(ServiceDied):
        service.start(lambda text: None)
        return True
    return False
