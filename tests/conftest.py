"""Fixtures that start the real parts, once per run."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from frazil.stack.local import LocalStack
from frazil.stack.logfile import tail
from frazil.stack.ports import unused
from tests.environment import isolated_settings

_LOG_LINES = 40


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Broker, object store and catalog in a home of their own; `stack.settings` says where they are."""
    local = LocalStack(isolated_settings(tmp_path_factory.mktemp("home")))
    local.start(lambda text: None)
    yield local
    local.stop()


@pytest.fixture(scope="session")
def free_ports() -> Callable[[int], list[int]]:
    """A function that returns so many different free ports on loopback."""
    return lambda count: unused(count)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the services' logs beside the failure of a test that used them."""
    report = yield
    arguments: dict[str, Any] = getattr(item, "funcargs", {})
    local = arguments.get("stack")
    if report.failed and isinstance(local, LocalStack):
        for path in sorted(local.settings.logs.glob("*.log")):
            report.sections.append((f"end of {path.name}", "\n".join(tail(path, _LOG_LINES)[0])))
    return report
