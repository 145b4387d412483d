from __future__ import annotations

import json
from pathlib import Path

import pytest

from frazil.connectors.documents import read_documents
from frazil.errors import UsageError
from tests.cli.connect.conftest import SINK, Program

SECRET = {"iceberg.catalog.s3.secret-access-key": "hidden-secret"}


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_apply_creates_updates_and_leaves_alone(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    write(folder / "a.json", {"name": "a", "config": {**SINK, "tasks.max": 2}})
    lines = [f"{key}: '{value}'" for key, value in SINK.items()]
    (folder / "b.yaml").write_text("\n".join(["name: b", *lines, "---", "name: c", *lines, "tasks.max: 3", ""]))
    out = program.ok("apply", "-f", str(folder))
    assert out == "a: created\nb: created\nc: created\n3 created\n"
    assert program.client.config("a") == {**SINK, "tasks.max": "2", "name": "a"}
    assert program.client.config("c") == {**SINK, "tasks.max": "3", "name": "c"}
    assert program.ok("apply", "-f", str(folder)).endswith("3 unchanged\n")
    write(folder / "a.json", {"name": "a", **SINK, "tasks.max": "4", **SECRET})
    out = program.ok("apply", "-f", str(folder))
    assert "- tasks.max=2\n  + tasks.max=4" in out
    assert "+ iceberg.catalog.s3.secret-access-key=[hidden]" in out
    assert out.endswith("1 updated, 2 unchanged\n")
    assert program.client.config("a")["iceberg.catalog.s3.secret-access-key"] == "hidden-secret"


def test_dry_run_sends_nothing_and_shows_what_the_worker_would_refuse(program: Program, tmp_path: Path) -> None:
    good = write(tmp_path / "good.json", {"name": "good", **SINK})
    bad = write(tmp_path / "bad.json", {"name": "bad", **SINK, "tasks.max": "zero"})
    out = program.ok("apply", "-f", str(good), "--dry-run")
    assert out.startswith("good: would be created\n")
    assert out.endswith("1 created; nothing was sent\n")
    code, out, err = program.run("apply", "-f", str(good), "-f", str(bad), "--dry-run")
    assert (code, err) == (1, "`validate FILE` names all that is wrong with a configuration.\n")
    assert "! tasks.max: Invalid value zero" in out
    assert out.endswith("1 created, 1 refused; nothing was sent\n")
    assert program.client.connectors() == []


def test_the_failure_of_one_connector_does_not_keep_the_others(program: Program, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.json", {"name": "bad", **SINK, "tasks.max": "zero"})
    good = write(tmp_path / "good.json", {"name": "good", "config": SINK, "initial_state": "stopped"})
    code, out, err = program.run("apply", "-f", str(bad), "-f", str(good))
    assert (code, out) == (1, "good: created\n1 failed, 1 created\n")
    assert err.startswith(f"frazil: bad ({bad}): POST")
    assert err.endswith("`validate FILE` names all that is wrong with a configuration.\n")
    assert program.client.status("good")["connector"]["state"] == "STOPPED"


def test_a_connector_without_a_name_has_that_of_its_file(program: Program, tmp_path: Path) -> None:
    nameless = write(tmp_path / "config.json", SINK)
    assert program.ok("apply", "-f", str(nameless)) == "config: created\n1 created\n"
    assert program.ok("apply", "-f", str(nameless), "--name", "given") == "given: created\n1 created\n"


@pytest.mark.parametrize(
    ("text", "suffix", "message"),
    [
        ("{", ".json", "is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("a: [", ".yaml", "is not YAML at line 1, column 5"),
        ("- 1", ".yaml", "a connector is an object of keys and values"),
        ('{"name": "a", "config": {"k": {}}}', ".json", "the value of k is an object"),
        ('{"name": "a", "k": null}', ".json", "the value of k is null"),
        ('{"name": "a", "config": {}, "tasks": []}', ".json", "unknown field tasks beside config"),
        ('{"name": "a", "config": {"name": "b"}}', ".json", "the names a and b are for one connector"),
        ('{"name": "a", "config": {}, "initial_state": "ASLEEP"}', ".json", "initial_state ASLEEP is none of"),
        ('[{"name": "a"}, {"name": "a"}]', ".json", "connector a is in"),
        ("", ".yaml", "there is no connector in"),
    ],
)
def test_files_that_have_no_connector(tmp_path: Path, text: str, suffix: str, message: str) -> None:
    file = tmp_path / f"x{suffix}"
    file.write_text(text)
    with pytest.raises(UsageError, match="Nothing was sent") as error:
        read_documents([str(file)], [])
    assert message in str(error.value)


def test_numbers_and_switches_stay_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("name: x\na: 1.10\nb: 0x1F\nc: yes\nd: true\n")
    (document,) = read_documents([str(file)], [])
    assert document.config == {"name": "x", "a": "1.10", "b": "0x1F", "c": "yes", "d": "true"}
    (document,) = read_documents(["-"], ['{"name": "x", "a": 1.10, "d": true, "e": 12345678901234567890}'])
    assert document.config == {"name": "x", "a": "1.10", "d": "true", "e": "12345678901234567890"}


def test_patch_and_delete_by_regular_expression(program: Program) -> None:
    for name in ("logs-a", "logs-b", "other"):
        program.client.put_config(name, SINK)
    out = program.ok("patch", "connector", "logs-a", "--set", "tasks.max=4", "--dry-run")
    assert out == "logs-a: would be updated; nothing was sent\n  + tasks.max=4\n"
    assert "tasks.max" not in program.client.config("logs-a")
    code, out, err = program.run("patch", "connector", "logs-a", "--set", "tasks.max=none", "--dry-run")
    assert (code, out) == (1, "")
    assert err.startswith("frazil: logs-a: would be refused\n  + tasks.max=none\n  ! ")
    out = program.ok("patch", "connector", "logs-.*", "-e", "--set", "tasks.max=4", "--remove", "no.such.key")
    assert out == "logs-a: updated\n  + tasks.max=4\nlogs-b: updated\n  + tasks.max=4\n"
    assert [program.client.config(name).get("tasks.max") for name in program.client.connectors()] == ["4", "4", None]
    assert program.ok("patch", "connector", "logs-a", "--set", "tasks.max=4") == "logs-a: unchanged\n"
    assert program.ok("delete", "connector", "logs-.*", "-e") == "logs-a: deleted\nlogs-b: deleted\n"
    code, out, err = program.run("delete", "connector", "gone", "other")
    assert (code, out) == (1, "other: deleted\n")
    assert err.startswith("frazil: gone: Connector gone not found (404 of ")
    code, _, err = program.run("delete", "connector", "logs-.*", "-e")
    assert code == 1
    assert "no connector matches logs-.*" in err


def test_a_deletion_is_asked_for_on_a_terminal_alone(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program.client.put_config("a", SINK)
    answers = ["n\n"]
    monkeypatch.setattr("frazil.cli.connect.change.sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("frazil.cli.ui.console._typed_line", answers.pop)
    code, out, _ = program.run("delete", "connector", "a")
    assert (code, out) == (1, "Delete a? [y/N]: nothing was deleted\n")
    assert program.client.connectors() == ["a"]
    assert program.ok("delete", "connector", "a", "--yes") == "a: deleted\n"
    assert answers == []


def test_a_name_with_a_slip_of_the_pen_is_told_with_what_was_meant(program: Program) -> None:
    program.client.put_config("orders-sink", SINK)
    code, out, err = program.run("pause", "connector", "order-sink", "xyz")
    assert (code, out) == (1, "")
    assert [line.partition("; ")[2] for line in err.splitlines()] == ["did you mean orders-sink?", ""]
    assert err.splitlines()[0].startswith("frazil: order-sink: Unknown connector order-sink (404 of ")
    assert "; did you mean IcebergSinkConnector?" in program.run("describe", "plugin", "IcebergSinkConector")[2]
    assert "did you mean" not in program.run("restart", "task", "orders-sink/9")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("patch", "connector", "x"), "nothing to change"),
        (("patch", "connector", "x", "--set", "k"), "expected KEY=VALUE"),
        (("patch", "connector", "x", "--set", "k=1", "--remove", "k"), "k is set and removed"),
        (("delete", "connector", "(", "-e"), "'(' is no regular expression"),
        (("delete", "connector"), "Missing argument"),
    ],
)
def test_wrong_usage(program: Program, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = program.run(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_keys_that_nobody_knows_are_told_with_what_was_meant(program: Program, tmp_path: Path) -> None:
    told = "? iceberg.tabels is not a key of this connector and has no effect; did you mean iceberg.tables?"
    file = write(tmp_path / "a.json", {"name": "a", **SINK, "iceberg.tabels": "x"})
    assert told in program.ok("apply", "-f", str(file), "--dry-run")
    assert told in program.ok("apply", "-f", str(file))
    assert "?" not in program.ok("apply", "-f", str(file))
    assert told in program.ok("describe", "connector", "a")
    assert "? tasks.mx is not a key" in program.ok("patch", "connector", "a", "--set", "tasks.mx=2")
    quiet = write(tmp_path / "b.json", {"name": "b", **SINK, "iceberg.tabels": "x", "frazil.warnings.level": "info"})
    assert "?" not in program.ok("apply", "-f", str(quiet))


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("name: a\ntopics: x\ntopics: y\n", ".yaml"),
        ("name: a\nconfig:\n  topics: x\n  topics: y\n", ".yaml"),
        ('{"name": "a", "config": {"topics": "x", "topics": "y"}}', ".json"),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, text: str, suffix: str) -> None:
    file = tmp_path / f"x{suffix}"
    file.write_text(text)
    with pytest.raises(UsageError, match="topics is given twice. Nothing was sent"):
        read_documents([str(file)], [])
