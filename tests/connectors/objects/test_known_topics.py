"""Which topics a connector has read, as it is kept in the store."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from frazil.connectors.objects.config.object_sink import Layout
from frazil.connectors.objects.known_topics import KnownTopics, topics_object
from frazil.errors import ConfigError
from tests.connectors.objects.samples import FolderStore

NAME = "events/_topics/c.json"


class Refusing:
    """A store that lets nobody get or put anything."""

    def get(self, name: str) -> bytes | None:
        raise ConfigError("AccessDenied.")

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        raise ConfigError("AccessDenied.")


def kept(folder: Path) -> dict[str, str]:
    return dict(KnownTopics(NAME, FolderStore(str(folder))).load())


def test_where_they_are_kept() -> None:
    assert topics_object(Layout("events/user"), "c") == "events/user/_topics/c.json"
    assert topics_object(Layout(""), "c") == "_topics/c.json"


def test_ids_are_added_and_stay(tmp_path: Path) -> None:
    known = KnownTopics(NAME, FolderStore(str(tmp_path)))
    assert known.load() == {}
    known.remember({})
    assert FolderStore(str(tmp_path)).objects() == {}
    known.remember({"a": "1"})
    known.remember({"b": "2"})
    assert kept(tmp_path) == {"a": "1", "b": "2"}
    assert FolderStore(str(tmp_path)).objects() == {NAME: b'{"topics":{"a":"1","b":"2"}}'}


def test_ids_are_forgotten(tmp_path: Path) -> None:
    known = KnownTopics(NAME, FolderStore(str(tmp_path)))
    known.remember({"a": "1", "b": "2", "c": "3"})
    known.forget({"a", "b"}, {"b": "4"})
    assert kept(tmp_path) == {"b": "4", "c": "3"}
    known.forget(None, {})
    assert kept(tmp_path) == {}


def test_an_object_of_somebody_else(tmp_path: Path) -> None:
    path = tmp_path / "objects" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(b"[]")
    with pytest.raises(ConfigError, match=f"object {NAME} cannot be used"):
        kept(tmp_path)


def test_a_store_without_rights() -> None:
    known = KnownTopics(NAME, Refusing())
    with pytest.raises(ConfigError, match=rf"AccessDenied\. The connector keeps in object {NAME} which topics"):
        known.load()
    with pytest.raises(ConfigError, match="needs the rights to get and put it"):
        known.remember({"a": "1"})
