"""What is told of a machine that is about to make trouble."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from frazil.declare.providers import ConfigProviders
from frazil.doctor import machine
from frazil.doctor.finding import Finding, Look
from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.ports import unused
from tests.isolation import isolated_settings
from tests.web import Handler, served


@pytest.fixture
def look(tmp_path: Path) -> Look:
    return Look(isolated_settings(tmp_path), ConfigProviders())


def one(found: Iterator[Finding]) -> Finding:
    [finding] = found
    return finding


def test_little_memory_and_disk(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    free = {"memory": 100 << 20, "disk": 2_000 << 20}
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=free["memory"]))
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=free["disk"]))
    found = one(machine.memory(look))
    assert (found.level, found.what) == ("warning", "only 100 MiB of memory can be had")
    assert found.effect and found.cure
    assert one(machine.disk(look)).level == "warning"
    free.update(memory=5_000 << 20, disk=100 << 20)
    assert one(machine.memory(look)).level == "ok"
    assert one(machine.disk(look)).level == "problem"
    free["disk"] = 50_000 << 20
    assert one(machine.disk(look)).level == "ok"


@pytest.mark.parametrize(
    ("limit", "level"), [((1024, 4096), "warning"), ((65536, 65536), "ok"), ((resource.RLIM_INFINITY,) * 2, "ok")]
)
def test_open_files(look: Look, monkeypatch: pytest.MonkeyPatch, limit: tuple[int, int], level: str) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda what: limit)
    assert one(machine.open_files(look)).level == level


class Clock(Handler):
    """Answers with a date that is off."""

    off = timedelta()

    def do_HEAD(self) -> None:
        self.send_response_only(403)
        self.send_header("Date", format_datetime(datetime.now(UTC) + self.off, usegmt=True))
        self.end_headers()


@pytest.mark.parametrize(
    ("off", "level", "what"),
    [
        (0, "ok", "the clock is that of the store"),
        (-60, "warning", "s ahead of that of the store"),
        (1000, "problem", "s behind that of the store"),
    ],
)
def test_clocks_apart(look: Look, off: int, level: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clock, "off", timedelta(seconds=off))
    with served(Clock) as url:
        settings = Settings({**look.settings.env, "MINIO_ENDPOINT": url})
        found = one(machine.clock(Look(settings, ConfigProviders())))
    assert (found.level, what in found.what) == (level, True), found


def test_a_store_that_is_away(look: Look) -> None:
    settings = Settings({**look.settings.env, "MINIO_ENDPOINT": f"http://{LOOPBACK}:{unused(1)[0]}"})
    found = one(machine.clock(Look(settings, ConfigProviders())))
    assert (found.level, "does not tell the time (ConnectError)" in found.what) == ("warning", True)
