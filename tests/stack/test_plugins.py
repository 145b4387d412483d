from __future__ import annotations

from pathlib import Path

import pytest

from frazil.environment.settings import Settings
from frazil.errors import StackError, UsageError
from frazil.stack.jars import JarSet
from frazil.stack.local import LocalStack
from frazil.stack.plugins import PLUGINS, install_plugin, is_installed, plugin_folder, remove_plugin
from tests.isolation import isolated_settings, quiet
from tests.stack.repository import Repository


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose downloads come from a repository that has the jars of `file`, with other contents."""
    repository = Repository(tmp_path / "repository")
    for coordinate in PLUGINS["file"].coordinates:
        repository.add(coordinate)
    own = {"FRAZIL_CACHE": str(tmp_path / "cache"), "FRAZIL_IVY_SETTINGS": str(repository.settings)}
    return isolated_settings(tmp_path / "home", **own)


def test_a_jar_with_another_checksum_is_not_installed(settings: Settings) -> None:
    with pytest.raises(StackError, match=r"connect-file:.* is not the file that the lock names"):
        install_plugin(settings, "file", quiet)
    assert not is_installed(settings, "file")
    assert not plugin_folder(settings).exists()


def test_a_plugin_is_linked_into_the_home_and_taken_out_again(settings: Settings) -> None:
    jars = PLUGINS["file"].folder(settings.cache)
    jars.mkdir(parents=True)
    for coordinate in PLUGINS["file"].coordinates:
        (jars / f"{'-'.join(coordinate.split(':')[1:])}.jar").touch()
    link = plugin_folder(settings) / "file"
    plugin_folder(settings).mkdir(parents=True)
    link.symlink_to(settings.cache / "jars" / "of-an-earlier-version")
    assert not is_installed(settings, "file")
    assert install_plugin(settings, "file", quiet) is True
    assert install_plugin(settings, "file", quiet) is False
    assert is_installed(settings, "file")
    assert link.resolve() == jars.resolve()
    assert remove_plugin(settings, "file") is True
    assert remove_plugin(settings, "file") is False
    assert jars.is_dir(), "downloads stay"
    install_plugin(settings, "file", quiet)
    LocalStack(settings).clean()
    assert jars.is_dir()
    assert not plugin_folder(settings).exists()


def test_what_is_not_of_its_making_stays(settings: Settings) -> None:
    own = plugin_folder(settings) / "file"
    own.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"is not of frazil's making. Nothing was done"):
        install_plugin(settings, "file", quiet)
    assert remove_plugin(settings, "file") is False
    assert own.is_dir()


def test_an_unknown_plugin(settings: Settings) -> None:
    told = r"there is no plugin debezium to install; there are debezium-postgres"
    with pytest.raises(UsageError, match=told):
        install_plugin(settings, "debezium", quiet)
    with pytest.raises(UsageError, match=told):
        remove_plugin(settings, "debezium")


@pytest.mark.parametrize("jars", PLUGINS.values(), ids=PLUGINS)
def test_jars_that_the_runtime_has_are_in_no_plugin(jars: JarSet) -> None:
    names = [coordinate.split(":")[1] for coordinate in jars.coordinates]
    assert len(names) == len(set(names))
    assert not {"kafka-clients", "connect-api", "slf4j-api"} & set(names)
