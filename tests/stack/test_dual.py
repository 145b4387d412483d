from __future__ import annotations

from pathlib import Path

import pytest

from frazil.environment.settings import Settings
from frazil.errors import ConfigError, StackError
from frazil.stack.dual import NAMES, dual_services, make_dual
from frazil.stack.local import LocalStack
from frazil.stack.service import Status
from tests.isolation import isolated_settings


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with a program that is called nginx."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nginx").touch(mode=0o700)
    return str(tmp_path / "bin")


def test_a_home_gets_two_stores_and_keeps_their_ports(tmp_path: Path, path: str) -> None:
    before = isolated_settings(tmp_path / "home", PATH=path)
    assert not before.has_catalog
    settings = make_dual(before)
    services = LocalStack(settings).services()
    assert {service.name for service in services} == NAMES | {"kafka"}
    ports = [port.number for service in services for port in service.ports]
    assert len(set(ports)) == len(ports)
    again = LocalStack(make_dual(Settings(before.env))).services()
    assert [service.ports for service in again] == [service.ports for service in services]
    assert settings.has_catalog
    LocalStack(settings).clean()
    assert [one.name for one in LocalStack(Settings(before.env)).services()] == ["seaweedfs", "kafka"]


def test_without_ports_given_the_source_has_the_first_and_the_destination_the_next(tmp_path: Path, path: str) -> None:
    env = {"FRAZIL_HOME": str(tmp_path / "home"), "PATH": path}
    settings = make_dual(Settings(env))
    assert (settings.source_port, settings.s3_port) == (9000, 9010)
    assert settings.s3_endpoint == "http://127.0.0.1:9010"
    assert Settings({**env, "SOURCE_API_PORT": "9100"}).s3_port == 9010


def test_a_home_with_one_store_and_a_store_of_the_users_are_refused(tmp_path: Path, path: str) -> None:
    home = tmp_path / "home"
    with pytest.raises(ConfigError, match="MINIO_ENDPOINT names one of yours"):
        make_dual(isolated_settings(home, PATH=path, MINIO_ENDPOINT="http://minio:9000"))
    (home / "data" / "seaweedfs").mkdir(parents=True)
    with pytest.raises(ConfigError, match=f"{home} has one store already"):
        make_dual(isolated_settings(home, PATH=path))
    assert not Settings({"FRAZIL_HOME": str(home)}).dual


def test_without_nginx_nothing_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frazil.stack.nginx.shutil.which", lambda name, path: None)
    with pytest.raises(StackError, match="Install the package nginx"):
        make_dual(isolated_settings(tmp_path / "home"))
    assert not (tmp_path / "home").exists()


def test_a_damaged_file_of_ports_is_told(tmp_path: Path, path: str) -> None:
    settings = make_dual(isolated_settings(tmp_path / "home", PATH=path))
    settings.dual_file.write_text("{")
    with pytest.raises(StackError, match=f"{settings.dual_file} is damaged"):
        dual_services(settings)


def test_a_warehouse_that_cannot_be_a_table_bucket_is_refused(tmp_path: Path, path: str) -> None:
    settings = make_dual(isolated_settings(tmp_path / "home", PATH=path, WAREHOUSE_NAME="ab"))
    (store,) = [service for service in dual_services(settings) if service.name == "dest"]
    with pytest.raises(ConfigError, match="WAREHOUSE_NAME=ab"):
        store.start(lambda text: None)
    assert store.state().status is Status.STOPPED
