"""The schema file of a connector over changes and restarts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from frazil.connectors.objects.config.object_sink import JsonSchemaConfig, Layout
from frazil.connectors.objects.schema_file import SchemaFile, schema_object
from frazil.errors import ConfigError
from tests.connectors.objects.samples import FolderStore

NAME = "events/_schemas/c.json"


def schema(*required: str, title: str = "") -> bytes:
    return json.dumps({"type": "object", "title": title, "required": required}).encode()


class Case:
    def __init__(self, folder: Path, rule: str = "BACKWARD") -> None:
        self.file = folder / "schema.json"
        self.store = FolderStore(str(folder))
        self.config = JsonSchemaConfig(self.file, compatibility=rule)  # type: ignore[arg-type]

    def start(self) -> SchemaFile:
        made = SchemaFile(self.config, NAME, self.store, "c")
        made.start()
        return made

    def write(self, text: bytes) -> bytes:
        self.file.write_bytes(text)
        return text


def test_where_it_is_kept() -> None:
    assert schema_object(Layout("events/user"), "c") == "events/user/_schemas/c.json"
    assert schema_object(Layout(""), "c") == "_schemas/c.json"


def test_the_file_counts_and_is_kept(tmp_path: Path) -> None:
    case = Case(tmp_path)
    text = case.write(schema("a"))
    assert case.start().current().text == text == case.store.get(NAME)


def test_a_change_that_keeps_the_rule_is_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    case = Case(tmp_path)
    case.write(schema("a", "b"))
    watched = case.start()
    caplog.set_level("INFO")
    watched.refresh()
    assert "has changed" not in caplog.text
    text = case.write(schema("a"))
    watched.refresh()
    assert watched.current().text == text == case.store.get(NAME)
    assert "schema file" in caplog.text


def test_one_that_breaks_it_changes_nothing_and_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    case = Case(tmp_path)
    first = case.write(schema())
    watched = case.start()
    for text in (schema("a"), b"{", b'{"type":"no"}'):
        case.write(text)
        caplog.clear()
        for _ in range(3):
            watched.refresh()
        assert watched.current().text == first == case.store.get(NAME)
        assert len(caplog.records) == 1
    case.write(schema("a"))
    caplog.clear()
    watched.refresh()
    assert "breaks the rule BACKWARD: field a is required" in caplog.text
    case.file.unlink()
    caplog.clear()
    for _ in range(3):
        watched.refresh()
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("connector c goes on with the schema that it has: schema file ")
    assert told.endswith("schema.json cannot be read: No such file or directory.")


def test_a_restart_begins_with_the_schema_in_use(tmp_path: Path) -> None:
    case = Case(tmp_path)
    first = case.write(schema("a"))
    case.start()
    second = case.write(schema())
    watched = case.start()
    assert watched.current().text == first
    watched.refresh()
    assert watched.current().text == second
    case.write(schema("a"))
    case.start().refresh()
    assert case.start().current().text == second
    forced = Case(tmp_path, "NONE").start()
    forced.refresh()
    assert forced.current().text == schema("a")


@pytest.mark.parametrize("text", [None, b"{", b"[]"])
def test_without_a_schema_nothing_starts(tmp_path: Path, text: bytes | None) -> None:
    case = Case(tmp_path)
    if text is not None:
        case.write(text)
    with pytest.raises(ConfigError, match=r"schema file .*\. Nothing was read\. Correct it"):
        case.start()


def test_a_kept_schema_that_cannot_be_used(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.write(schema())
    (tmp_path / "objects" / NAME).parent.mkdir(parents=True)
    (tmp_path / "objects" / NAME).write_bytes(b"{")
    with pytest.raises(ConfigError, match="object events/_schemas/c.json, the schema in use, cannot be used"):
        case.start()


def test_a_pipe_is_no_schema_file(tmp_path: Path) -> None:
    case = Case(tmp_path)
    os.mkfifo(case.file)
    with pytest.raises(ConfigError, match="is no regular file"):
        case.start()


def test_a_file_that_becomes_too_large_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    case = Case(tmp_path)
    text = case.write(schema("a"))
    watched = case.start()
    with case.file.open("r+b") as file:
        file.truncate(17 << 20)
    watched.refresh()
    assert watched.current().text == text
    assert "are the most" in caplog.text
