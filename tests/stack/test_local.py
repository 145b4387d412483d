from __future__ import annotations

import socket
from pathlib import Path

import pytest

from frazil.environment.settings import LOOPBACK
from frazil.errors import PortTaken, StackError
from frazil.stack.local import LocalStack
from frazil.stack.service import Status
from tests.isolation import isolated_settings, quiet


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ["seaweedfs", "kafka"]),
        ({"KAFKA_BOOTSTRAP_SERVERS": "kafka:29092"}, ["seaweedfs"]),
        ({"MINIO_ENDPOINT": "http://minio:9000"}, ["kafka"]),
        ({"KAFKA_BOOTSTRAP_SERVERS": "kafka:29092", "MINIO_ENDPOINT": "http://minio:9000"}, []),
    ],
)
def test_external_parts_are_not_ours(tmp_path: Path, variables: dict[str, str], expected: list[str]) -> None:
    local = LocalStack(isolated_settings(tmp_path, **variables))
    assert [service.name for service in local.services()] == expected
    assert [service.name for service in local.embedded()] == ["seaweedfs", "kafka"]


@pytest.mark.stack
def test_life_of_a_stack(tmp_path: Path) -> None:
    home = tmp_path / "home"
    local = LocalStack(isolated_settings(home))
    seen: list[tuple[str, bool]] = []
    local.start(quiet, lambda service, started, _: seen.append((service.name, started)))
    local.start(quiet, lambda service, started, _: seen.append((service.name, started)))
    assert seen == [("seaweedfs", True), ("kafka", True), ("seaweedfs", False), ("kafka", False)]

    with pytest.raises(StackError, match="kafka still runs, so nothing was removed"):
        local.clean()
    assert (home / "data" / "kafka").is_dir()

    now_external = LocalStack(isolated_settings(home, KAFKA_BOOTSTRAP_SERVERS="elsewhere:9092"))
    with pytest.raises(StackError, match="kafka still runs"):
        now_external.clean()
    now_external.stop()
    assert [service.state().status for service in local.services()] == [Status.STOPPED, Status.STOPPED]
    local.stop()

    (home / "mine.txt").write_text("a user's file")
    local.clean()
    assert [path.name for path in home.iterdir()] == ["mine.txt"]
    (home / "mine.txt").unlink()
    local.clean()
    assert not home.exists()
    local.clean()


@pytest.mark.stack
def test_what_is_ready_goes_on_when_a_later_part_cannot_start(tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path / "home")
    local = LocalStack(settings)
    with socket.create_server((LOOPBACK, settings.kafka_controller_port)):
        with pytest.raises(PortTaken, match="KAFKA_CONTROLLER_PORT"):
            local.start(quiet)
        assert [service.state().status for service in local.services()] == [Status.RUNNING, Status.STOPPED]
    local.stop()
