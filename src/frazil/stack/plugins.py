"""Plugins of Kafka Connect that are installed by name: jars of the cache, linked into the home's plugin path.

Each is a set of jars with checksums, as the stack's own are.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.stack.ivy import Progress
from frazil.stack.jars import CONNECT_FILE, JarSet, resolve
from frazil.stack.java import find_java

PLUGINS: Mapping[str, JarSet] = MappingProxyType(
    {
        **{
            f"debezium-{name}": JarSet(f"debezium-{name}")
            for name in ("postgres", "mysql", "mariadb", "mongodb", "sqlserver", "oracle")
        },
        "file": CONNECT_FILE,
        "mirror": JarSet("connect-mirror"),
    }
)
"""Sets of jars by the name of their plugin."""


def plugin_folder(settings: Settings) -> Path:
    """Folder of the home with a link for each plugin that is installed."""
    return settings.home / "plugins"


def jar_set_of(name: str) -> JarSet:
    """The jars of a plugin. Raises UsageError for one that there is not."""
    found = PLUGINS.get(name)
    if found is None:
        raise UsageError(f"there is no plugin {name} to install; there are {', '.join(PLUGINS)}. Nothing was done.")
    return found


def is_installed(settings: Settings, name: str) -> bool:
    """Whether a plugin is in the home, in the version of this frazil and with all its jars."""
    wanted = jar_set_of(name).folder(settings.cache)
    link = plugin_folder(settings) / name
    return link.is_symlink() and link.readlink() == wanted and wanted.is_dir()


def install_plugin(settings: Settings, name: str, progress: Progress) -> bool:
    """Fetch the jars of a plugin and link them; False when it was installed already.

    Raises UsageError for a plugin that there is not, or when something else lies in its place, and as `resolve` does.
    """
    jars = jar_set_of(name)
    if is_installed(settings, name):
        return False
    link = plugin_folder(settings) / name
    if link.exists() and not link.is_symlink():
        raise UsageError(f"{link} is not of frazil's making. Nothing was done; move it away and try again.")
    resolve(jars, find_java(settings.env), settings.cache, progress, settings.env)
    link.parent.mkdir(parents=True, exist_ok=True)
    draft = link.with_name(f".{name}.new")
    draft.unlink(missing_ok=True)
    draft.symlink_to(jars.folder(settings.cache).resolve(), target_is_directory=True)
    draft.replace(link)
    return True


def remove_plugin(settings: Settings, name: str) -> bool:
    """Take a plugin out of the home; its jars stay in the cache. False when it was not installed.

    Raises UsageError for a plugin that there is not.
    """
    jar_set_of(name)
    link = plugin_folder(settings) / name
    if not link.is_symlink():
        return False
    link.unlink()
    return True
