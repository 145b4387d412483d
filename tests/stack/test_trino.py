from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import javaproperties
import psutil
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from trino.exceptions import TrinoQueryError

from frazil.clients.catalog import connect as icebergs
from frazil.clients.trino import connect, has_catalog, server_version
from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack import trino as module
from frazil.stack import trino_java
from frazil.stack.seaweedfs import seaweedfs_service
from frazil.stack.service import Service, Status
from frazil.stack.trino import trino_service
from frazil.stack.versions import TRINO
from tests.isolation import isolated_settings, quiet

SECRET = "a secret of this test"
INSTALLER = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_CERT_"))}
NUMBERS = Schema(NestedField(1, "n", LongType()))


def process_of(service: Service) -> psutil.Process:
    pid = service.state().pid
    assert pid is not None
    return psutil.Process(pid)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, Service]]:
    """Trino and a store of this module alone; Trino runs on the Java that the cache brings, not on the machine's."""
    home = tmp_path_factory.mktemp("home")
    settings = isolated_settings(home, MINIO_ACCESS_KEY="someone", MINIO_SECRET_KEY=SECRET, **INSTALLER)
    store, service = seaweedfs_service(settings), trino_service(settings)
    store.start(quiet)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trino_java, "find_newer_java", lambda env, oldest: None)
        assert service.start(quiet) is True
        catalog = icebergs(settings.catalog_properties())
        catalog.create_namespace(settings.namespace)
        catalog.create_table((settings.namespace, "numbers"), NUMBERS).append(pa.table({"n": [1, 2, 3]}))
        yield settings, service
    service.stop()
    store.stop()


def ask(settings: Settings, sql: str) -> list[list[object]]:
    with connect(settings) as connection:
        rows: list[list[object]] = connection.cursor().execute(sql).fetchall()
    return rows


@pytest.mark.trino
def test_it_answers_with_the_catalog_of_the_warehouse(server: tuple[Settings, Service]) -> None:
    settings, service = server
    assert service.state().status is Status.RUNNING
    assert str(settings.cache / "java") in process_of(service).exe()
    assert server_version(settings) == int(TRINO)
    assert has_catalog(settings)


@pytest.mark.trino
def test_everything_listens_on_loopback(server: tuple[Settings, Service]) -> None:
    settings, service = server
    process = process_of(service)
    listening = [
        connection.laddr
        for member in (process, *process.children(recursive=True))
        for connection in member.net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {(address[0].removeprefix("::ffff:"), address[1]) for address in listening} == {
        (LOOPBACK, settings.trino_port)
    }


@pytest.mark.trino
def test_the_secret_is_in_the_environment_of_the_server_alone(server: tuple[Settings, Service]) -> None:
    settings, service = server
    process = process_of(service)
    assert not any(SECRET in text for text in process.cmdline())
    assert stat.S_IMODE(Path(f"/proc/{process.pid}/environ").stat().st_mode) == 0o400
    assert process.environ()["MINIO_SECRET_KEY"] == SECRET
    assert ask(settings, "SELECT sum(n) FROM numbers") == [[6]]
    identities = settings.home / "conf" / "seaweedfs" / "s3.json"
    files = [path for path in settings.home.rglob("*") if path.is_file() and path != identities]
    assert settings.logs / "trino.log" in files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.trino
def test_it_only_reads_and_no_page_shows_the_secret(server: tuple[Settings, Service]) -> None:
    settings, _ = server
    ask(settings, "SELECT n, count(*) FROM numbers WHERE n > 1 GROUP BY n")
    ask(settings, 'SELECT * FROM "numbers$files"')
    for writing in ("INSERT INTO numbers VALUES 4", "DELETE FROM numbers", "ALTER TABLE numbers EXECUTE optimize"):
        with pytest.raises(TrinoQueryError, match="Access Denied"):
            ask(settings, writing)
    [[shown]] = ask(settings, "SELECT query FROM system.runtime.queries WHERE query LIKE 'CREATE CATALOG%'")
    assert "'${ENV:MINIO_SECRET_KEY}'" in str(shown)
    queries = httpx.get(f"{settings.trino_url}/v1/query", headers={"X-Trino-User": "test"}, trust_env=False)
    assert queries.status_code == 200
    created = [query for query in queries.json() if query["query"].startswith("CREATE CATALOG")]
    assert created
    for query in queries.json():
        url = f"{settings.trino_url}/v1/query/{query['queryId']}"
        answer = httpx.get(url, headers={"X-Trino-User": "test"}, trust_env=False)
        assert answer.status_code == 200
        assert SECRET not in answer.text


@pytest.mark.trino
def test_a_catalog_that_is_gone_comes_back_with_the_next_start(server: tuple[Settings, Service]) -> None:
    settings, service = server
    ask(settings, f"DROP CATALOG {settings.sql_catalog}")
    assert not has_catalog(settings)
    assert service.start(quiet) is False
    assert has_catalog(settings)


@pytest.mark.trino
def test_memory_is_bounded(server: tuple[Settings, Service]) -> None:
    process = process_of(server[1])
    assert "-Xmx2g" in process.cmdline()
    assert process.memory_info().rss < 3 << 30


def test_files_for_a_start_hold_no_secret(tmp_path: Path, free_ports: Callable[[int], list[int]]) -> None:
    """Nothing but the environment of the process has it."""
    settings = isolated_settings(tmp_path, MINIO_SECRET_KEY=SECRET)
    service = trino_service(settings)
    assert service.env["MINIO_SECRET_KEY"] == SECRET
    assert set(service.env) - {"MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"} <= set(os.environ)
    assert SECRET not in repr(service)


def test_the_file_for_java_has_a_folder_with_umlauts_in_ascii(tmp_path: Path) -> None:
    path, server = tmp_path / "config.properties", Path("/Zoë's ü/a\\b #=")
    module._write_properties(isolated_settings(tmp_path), path, server)  # noqa: SLF001
    assert javaproperties.loads(path.read_bytes().decode("ascii"))["plugin.dir"] == f"{server}/plugin"
