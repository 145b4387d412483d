"""Fixtures that start the real parts, once per run."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import re
import signal
import subprocess
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
import typer.main
import typer.testing

from frazil.environment.settings import Settings
from frazil.errors import NotFound
from frazil.stack.local import LocalStack
from frazil.stack.logfile import tail
from frazil.stack.ports import unused
from frazil.stack.registry import registry_service
from frazil.stack.trino import trino_service
from tests.harness import Pipe, Worker, own_worker
from tests.isolation import isolated_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = Path(__file__).resolve().parents[1] / "scripts" / "corpora.sh"
_LOG_LINES = 40

# How long an example takes says nothing on a machine that other tests share.
# The same examples in each run of `make test`; `make test-faults` looks for others.
hypothesis.settings.register_profile("frazil", deadline=None, max_examples=20, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=300)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "frazil"))

# To build the tree of all verbs takes longer than what most of them do.
setattr(typer.testing, "_get_command", cache(typer.main.get_command))  # noqa: B010


def pytest_collection_finish() -> None:
    """What is imported and collected stays until the end: to look through it for garbage again and again is a
    twentieth of a run."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)


def pytest_configure() -> None:
    """SIGTERM ends a run like Ctrl+C: fixtures stop what they started. A background job begins with Ctrl+C ignored."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _levels_of_loggers() -> Iterator[None]:
    """Loggers have the same levels after a test: a request to `/admin/loggers` changes those of the whole process."""
    before = {logger: logger.level for logger in _loggers()}
    yield
    for logger in _loggers():
        if logger.level != before.get(logger, logging.NOTSET):
            logger.setLevel(before.get(logger, logging.NOTSET))


def _loggers() -> list[logging.Logger]:
    named = logging.Logger.manager.loggerDict.copy().values()
    return [logging.getLogger(), *(logger for logger in named if isinstance(logger, logging.Logger))]


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Broker, object store and catalog in a home of their own; `stack.settings` says where they are."""
    local = LocalStack(isolated_settings(tmp_path_factory.mktemp("home")))
    try:
        local.start(lambda text: None)
        yield local
    finally:
        local.stop()


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder of the npm packages of the tests, which are fetched once."""
    found = subprocess.run([PACKAGES], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return Path(found.stdout.strip())


@pytest.fixture(scope="session")
def trino(stack: LocalStack) -> Iterator[Settings]:
    """Trino on the catalog of the stack: `TrinoEngine(trino)` asks it. Its tests are marked `trino`.

    Another namespace: `TrinoEngine(Settings({**trino.env, "NAMESPACE_NAME": "other"}))`.
    """
    service = trino_service(stack.settings)
    service.start(lambda text: None)
    yield stack.settings
    service.stop()


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A schema registry: `registry.registry_url` is where Confluent's API is. Its tests are marked `stack`."""
    settings = isolated_settings(tmp_path_factory.mktemp("registry"))
    service = registry_service(settings)
    service.start(lambda text: None)
    yield settings
    service.stop()


@pytest.fixture(scope="session")
def spark(stack: LocalStack) -> Iterator[SparkSession]:
    """A session as a worker starts it, in this process."""
    from frazil.engine import spark as spark_session

    before = dict(os.environ)
    session = spark_session.start(stack.settings)
    os.environ.clear()
    os.environ.update(before)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def worker(stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker on the stack; tests bring topics, tables and connectors of their own."""
    with own_worker(stack.settings, tmp_path_factory.mktemp("worker")) as running:
        yield running


@pytest.fixture
def pipe(worker: Worker, request: pytest.FixtureRequest) -> Iterator[Pipe]:
    """A topic and a table named after the test; the connector on them is deleted afterwards."""
    name = re.sub(r"[^a-z0-9]+", "_", request.node.name.lower()).strip("_")
    made = Pipe(worker.settings, name).create()
    yield made
    with contextlib.suppress(NotFound):
        worker.client.delete(made.connector)


@pytest.fixture(scope="session")
def free_ports() -> Callable[[int], list[int]]:
    """A function that returns so many different free ports on loopback."""
    return lambda count: unused(count)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the services' logs beside the failure of a test that used them."""
    report = yield
    arguments: dict[str, Any] = getattr(item, "funcargs", {})
    if report.failed:
        for user in (arguments.get("stack"), arguments.get("worker")):
            if isinstance(user, LocalStack | Worker):
                for path in sorted(user.settings.logs.glob("*.log")):
                    report.sections.append((f"end of {path.name}", "\n".join(tail(path, _LOG_LINES)[0])))
    return report
