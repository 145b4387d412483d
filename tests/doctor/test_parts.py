from __future__ import annotations

import socket
from pathlib import Path

import pytest

from frazil.declare.providers import ConfigProviders
from frazil.doctor.examine import CHECKS, examine
from frazil.doctor.finding import Look
from frazil.doctor.parts import services
from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.ports import Port, unused
from frazil.stack.service import Service
from tests.isolation import isolated_settings


def service(home: Path, port: int) -> Service:
    return Service("kafka", home, lambda progress: [], lambda: None, (Port(port, "KAFKA_EXTERNAL_PORT"),))


def test_a_service_that_does_not_run_and_one_whose_port_is_taken(tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path)
    with socket.create_server((LOOPBACK, 0)) as taken:
        [found] = services(Look(settings, ConfigProviders(), [service(tmp_path, taken.getsockname()[1])]))
    assert (found.level, found.effect) == ("problem", "it cannot start")
    assert "is used by " in found.what and found.cure.endswith("move the port with KAFKA_EXTERNAL_PORT")
    [found] = services(Look(settings, ConfigProviders(), [service(tmp_path, unused(1)[0])]))
    assert (found.level, found.what) == ("problem", "it is stopped")
    assert found.cure.startswith("`start kafka`")


def test_what_does_not_answer_is_a_problem_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = unused(1)[0]
    away = {
        "KAFKA_BOOTSTRAP_SERVERS": f"{LOOPBACK}:{port}",
        "ICEBERG_CATALOG_URI": f"http://{LOOPBACK}:{port}",
        "KAFKA_CONNECT_URL": f"http://{LOOPBACK}:{port}",
        "MINIO_ENDPOINT": f"http://{LOOPBACK}:{port}",
    }
    steps: list[str] = []
    found = list(examine(Look(Settings({**isolated_settings(tmp_path).env, **away}), ConfigProviders()), steps.append))
    assert steps == list(CHECKS)
    stopped = list(examine(Look(isolated_settings(tmp_path), ConfigProviders(), [service(tmp_path, port)])))
    assert [one.what for one in stopped if one.part == "kafka"] == ["it is stopped"], "it is said once"
    problems = {one.part for one in found if one.level == "problem"}
    assert {"kafka", "catalog", "worker"} <= problems
