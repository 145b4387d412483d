"""Connector classes in the folders of `plugin.path`, found without a JVM by what their jars declare."""

import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SERVICES = {
    "META-INF/services/org.apache.kafka.connect.source.SourceConnector": "source",
    "META-INF/services/org.apache.kafka.connect.sink.SinkConnector": "sink",
}
_VERSION = re.compile(r"-(\d[\w.\-]*)\.jar$")


@dataclass(frozen=True)
class Plugin:
    """A connector class with its type, `source` or `sink`, and the version in the name of its jar."""

    class_name: str
    type: str
    version: str | None

    def is_called(self, name: str) -> bool:
        """Whether `name` is the class, or its simple name with or without the suffix Connector."""
        simple = self.class_name.rpartition(".")[2]
        return name in (self.class_name, simple, simple.removesuffix("Connector"))


def find_plugins(plugin_path: str) -> list[Plugin]:
    """Plugins of the folders and jars in `plugin.path`, separated by commas; folders that there are not have none."""
    found = {plugin.class_name: plugin for jar in _jars(plugin_path.split(",")) for plugin in _plugins(jar)}
    return sorted(found.values(), key=lambda plugin: plugin.class_name)


def _jars(places: Iterable[str]) -> Iterator[Path]:
    """Connect looks for jars in each place itself and in the folders directly below it."""
    for place in (Path(text.strip()) for text in places if text.strip()):
        if place.suffix == ".jar":
            yield place
        else:
            yield from sorted({*place.glob("*.jar"), *place.glob("*/*.jar"), *place.glob("*/lib/*.jar")})


def _plugins(jar: Path) -> tuple[Plugin, ...]:
    try:
        return _declared(jar, jar.stat().st_mtime_ns)
    except (OSError, zipfile.BadZipFile):
        return ()  # Connect passes over such a file too, and says so in its log


@cache
def _declared(jar: Path, changed_ns: int) -> tuple[Plugin, ...]:
    """Read a jar, once for each time that it was changed."""
    version = _VERSION.search(jar.name)
    with zipfile.ZipFile(jar) as archive:
        names = set(archive.namelist())
        return tuple(
            Plugin(class_name, kind, version[1] if version else None)
            for service, kind in _SERVICES.items()
            if service in names
            for line in archive.read(service).decode("utf-8", "replace").splitlines()
            if (class_name := line.partition("#")[0].strip())
        )
