"""The stack's schema registry, which runs on request only: Apicurio Registry, which serves Confluent's API too."""

from collections.abc import Sequence
from pathlib import Path

from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.answer import unanswered
from frazil.stack.archives import ArchiveSet, install, unpack_tar
from frazil.stack.ivy import Progress
from frazil.stack.java import find_java
from frazil.stack.ports import Port
from frazil.stack.process import minimal_env
from frazil.stack.service import Service, embedded
from frazil.stack.transfer import Transfer
from frazil.stack.versions import REGISTRY_JAVA

_HEAP = "512m"


def _unpack(found: list[Path], draft: Path, progress: Progress) -> Path:
    (archive,) = found
    total = archive.stat().st_size
    unpack_tar(archive, draft / "registry", lambda done: progress(Transfer("unpacking the registry", done, total)))
    return draft / "registry"


REGISTRY_FILES = ArchiveSet("registry", "the schema registry", _unpack)
"""A folder with `quarkus-run.jar`."""


def registry_service(settings: Settings) -> Service:
    """Apicurio Registry on `Settings.registry_port`, its schemas in `<home>/data/registry`."""
    data = settings.home / "data" / "registry"
    return embedded(settings)(
        name="registry",
        command=lambda progress: _command(settings, data, progress),
        ready=lambda: _missing(settings.registry_port),
        ports=(Port(settings.registry_port, "SCHEMA_REGISTRY_PORT"),),
        env={
            **minimal_env(settings.env),
            "QUARKUS_HTTP_HOST": LOOPBACK,
            "QUARKUS_HTTP_PORT": str(settings.registry_port),
            "QUARKUS_MANAGEMENT_HOST": LOOPBACK,
            "QUARKUS_MANAGEMENT_PORT": "0",  # any free one: nobody asks it, and its own choice is 9000
            "APICURIO_STORAGE_KIND": "sql",
            "APICURIO_STORAGE_SQL_KIND": "h2",
            "APICURIO_DATASOURCE_URL": "jdbc:h2:file:./schemas",  # of the folder that it runs in
        },
        cwd=data,
    )


def _command(settings: Settings, data: Path, progress: Progress) -> Sequence[str]:
    java = find_java(settings.env, (REGISTRY_JAVA,))
    folder = install(REGISTRY_FILES, find_java(settings.env), settings.cache, progress, settings.env)
    data.mkdir(parents=True, exist_ok=True)
    return [
        str(java),
        f"-Xmx{_HEAP}",
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={settings.logs}/registry-jvm-%p.log",
        *("-jar", str(folder / "quarkus-run.jar")),
    ]


def _missing(port: int) -> str | None:
    return unanswered(f"http://{LOOPBACK}:{port}/apis/ccompat/v7/subjects")
