"""The stack's Trino, which runs on request only: one node on loopback."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from frazil.clients.trino_catalog import SECRETS
from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.answer import answer
from frazil.stack.archives import ArchiveSet, install, unpack_tar, unpack_zip
from frazil.stack.class_archive import ClassArchive
from frazil.stack.ports import Port
from frazil.stack.process import minimal_env
from frazil.stack.service import Progress, Service, embedded
from frazil.stack.transfer import Transfer
from frazil.stack.trino_java import trino_java
from frazil.stack.truststore import trust_options

_UNPACKING = "unpacking Trino"


def _unpack(found: list[Path], draft: Path, progress: Progress) -> Path:
    """Unpack both archives below `draft`; returns the folder of the server, with the plugin in its place."""
    server, plugin = found
    before, total = server.stat().st_size, sum(path.stat().st_size for path in found)
    unpack_tar(server, draft / "server", lambda done: progress(Transfer(_UNPACKING, done, total)))
    unpack_zip(plugin, draft / "plugin", lambda done: progress(Transfer(_UNPACKING, before + done, total)))
    (top,), (inner,) = (draft / "server").iterdir(), (draft / "plugin").iterdir()
    (top / "plugin").mkdir(exist_ok=True)
    inner.rename(top / "plugin" / "iceberg")
    return top


TRINO_FILES = ArchiveSet("trino", "Trino", _unpack)
"""The server (`.tar.gz`) and its Iceberg plugin (`.zip`): a folder with `lib/` and `plugin/iceberg/`."""


_HEAP = "2g"
_PROPERTIES = {
    "coordinator": "true",
    "node-scheduler.include-coordinator": "true",
    "node.environment": "frazil",
    "node.id": "frazil",
    "node.bind-ip": LOOPBACK,
    "node.internal-address": LOOPBACK,
    # Kept in memory: the catalog is created at each start, and no file holds its properties.
    "catalog.management": "dynamic",
    "catalog.store": "memory",
    "http-server.log.enabled": "false",
    "query.max-memory-per-node": "1GB",
    "memory.heap-headroom-per-node": "512MB",
}
# Trino lists every property of server and catalog at each start: several hundred lines.
_LOGGING = "Bootstrap=WARN\n"


def trino_service(settings: Settings) -> Service:
    """Trino on `Settings.trino_port`, its data in `<home>/data/trino`, with at most 2 GiB of heap.

    Once it answers it gets the dynamic catalog of the warehouse, when it does not have one.
    """
    own = Settings({name: value for name, value in settings.env.items() if name != "TRINO_URL"})
    return embedded(settings)(
        name="trino",
        command=lambda progress: _command(settings, progress),
        ready=lambda: _missing(own),
        ports=(Port(settings.trino_port, "TRINO_PORT"),),
        env={
            **minimal_env(settings.env),
            **dict(zip(SECRETS, (settings.access_key, settings.secret_key), strict=True)),
        },
        cwd=settings.home / "data" / "trino",  # it looks for further configuration in `etc` there: nobody's
        complete=lambda: _create_catalog(own),
    )


def _command(settings: Settings, progress: Progress) -> Sequence[str]:
    java = trino_java(settings.cache, progress, settings.env)
    server = install(TRINO_FILES, java, settings.cache, progress, settings.env)
    conf = settings.home / "conf" / "trino"
    data = settings.home / "data" / "trino"
    temporary = data / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)  # a killed server leaves native libraries there
    for folder in (conf, data, temporary):
        folder.mkdir(parents=True, exist_ok=True)
    jars = sorted((server / "lib").glob("*.jar"))
    archive = ClassArchive("trino", java, jars, [_HEAP], settings.cache, settings.env)
    levels = conf / "log.properties"
    levels.write_text(_LOGGING)
    return [
        str(java),
        *archive.options(),
        f"-Xmx{_HEAP}",
        *trust_options(settings.env),
        "-XX:+UseG1GC",
        "-XX:G1HeapRegionSize=32M",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-OmitStackTraceInFastThrow",
        f"-XX:ErrorFile={settings.logs}/trino-jvm-%p.log",
        "-XX:+EnableDynamicAgentLoading",
        "-Djdk.attach.allowAttachSelf=true",
        f"-Djava.io.tmpdir={temporary}",
        "--enable-native-access=ALL-UNNAMED",
        "--sun-misc-unsafe-memory-access=allow",
        f"-Dlog.levels-file={levels}",
        f"-Dconfig={_write_properties(settings, conf / 'config.properties', server)}",
        *("-cp", f"{server}{os.sep}lib{os.sep}*"),
        "io.trino.server.TrinoServer",
    ]


def _write_properties(settings: Settings, path: Path, server: Path) -> Path:
    import javaproperties

    properties = {
        **_PROPERTIES,
        "http-server.http.port": str(settings.trino_port),
        "discovery.uri": f"http://{LOOPBACK}:{settings.trino_port}",
        "plugin.dir": str(server / "plugin"),
    }
    path.write_text(javaproperties.dumps(properties, timestamp=None))
    return path


def _missing(settings: Settings) -> str | None:
    import httpx

    url = f"{settings.trino_url}/v1/info"
    try:
        answered = answer(url)
        answered.raise_for_status()
        return "it is still starting" if answered.json()["starting"] else None
    except (httpx.HTTPError, ValueError, KeyError) as error:
        return f"{url} does not answer ({error})"


def _create_catalog(settings: Settings) -> None:
    from frazil.clients.trino import create_catalog  # its library takes 0.2 s, which every `status` would wait for

    create_catalog(settings)
