from __future__ import annotations

from pathlib import Path

import pytest
from bench.environment import bench_settings, home_folder, with_home

from frazil.errors import StackError


def never(port: int) -> bool:
    return False


def test_ports_are_free_ones_of_the_range_of_the_bench(tmp_path: Path) -> None:
    settings = bench_settings(tmp_path, {}, taken=lambda port: port < 27010)
    ports = [
        settings.kafka_port,
        settings.kafka_controller_port,
        settings.s3_port,
        settings.catalog_port,
        settings.connect_port,
        settings.actuator_port,
    ]
    assert ports == list(range(27010, 27016))


def test_a_port_of_the_environment_wins_and_other_services_stay_out(tmp_path: Path) -> None:
    environ = {
        "KAFKA_EXTERNAL_PORT": "28123",
        "KAFKA_BOOTSTRAP_SERVERS": "production:9092",
        "MINIO_ENDPOINT": "http://production:9000",
        "TOPIC": "x",
    }
    settings = bench_settings(tmp_path, environ, taken=never)
    assert settings.bootstrap_servers == "127.0.0.1:28123"
    assert not settings.kafka_external
    assert not settings.s3_external
    assert settings.s3_port == 27001


def test_too_few_free_ports_name_the_variables(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="ACTUATOR_PORT"):
        bench_settings(tmp_path, {}, taken=lambda port: port > 27004)


def test_a_worker_gets_its_own_home_and_the_same_addresses(tmp_path: Path) -> None:
    settings = bench_settings(tmp_path, {}, taken=never)
    own = with_home(settings, tmp_path / "worker")
    assert own.home == tmp_path / "worker"
    assert own.connect_port == settings.connect_port


def test_the_home_goes_when_all_was_good(tmp_path: Path) -> None:
    with home_folder(str(tmp_path / "parent"), lambda: False) as home:
        (home / "data").mkdir()
    assert list((tmp_path / "parent").iterdir()) == []


def test_the_logs_stay_after_a_failed_step_and_the_data_goes(tmp_path: Path) -> None:
    with home_folder(str(tmp_path), lambda: True) as home:
        (home / "data").mkdir()
        (home / "logs").mkdir()
    assert [path.name for path in home.iterdir()] == ["logs"]


def test_the_home_goes_when_interrupted(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), home_folder(str(tmp_path), lambda: True):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
