from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.cli.connect.conftest import SINK, Program

SECRET = {"iceberg.catalog.s3.secret-access-key": "hidden-secret"}


def test_what_is_exported_can_be_applied(program: Program, tmp_path: Path) -> None:
    odd = {"odd": "1.10", "switch": "true", "lines": "a\nb: c", "placeholder": "${file:/x:y}"}
    program.client.create("a", {**SINK, **odd, "name": "a"}, "STOPPED")
    program.client.put_config("b/c", {**SINK, "name": "b/c"})
    folder = tmp_path / "out"
    told = program.ok("export", "--to", str(folder))
    assert told == f"a: {folder}/a.yaml\nb/c: {folder}/b%2Fc.yaml\n"
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert program.ok("diff", "-f", str(folder)) == "as the files say: 2 connectors\n"
    configs = {name: program.client.config(name) for name in ("a", "b/c")}
    for name in configs:
        program.client.delete(name)
    program.ok("apply", "-f", str(folder))
    assert {name: program.client.config(name) for name in ("a", "b/c")} == configs
    assert program.client.status("a")["connector"]["state"] == "STOPPED"
    documents = list(yaml.safe_load_all(program.ok("export")))
    assert [one["name"] for one in documents] == ["a", "b/c"]
    assert [one["name"] for one in json.loads(program.ok("export", "a", "-o", "json"))] == ["a"]
    assert program.run("export", "-o", "name")[0] == 2


def test_secrets_are_named(program: Program) -> None:
    program.client.put_config("a", {**SINK, **SECRET})
    code, out, err = program.run("export")
    assert (code, "hidden-secret" in out) == (0, True)
    assert err == "a: iceberg.catalog.s3.secret-access-key stands in it; keep it safe\n"


def test_differences_are_told_without_secrets(program: Program, tmp_path: Path) -> None:
    program.client.put_config("a", {**SINK, **SECRET})
    program.client.put_config("left", SINK)
    file = tmp_path / "connectors.yaml"
    file.write_text(yaml.safe_dump_all([{"name": "a", **SINK, "tasks.max": "4"}, {"name": "new", **SINK}]))
    code, out, err = program.run("diff", "-f", str(file))
    assert (code, err) == (1, "")
    assert out == (
        f"a: differs from {file}\n  - iceberg.catalog.s3.secret-access-key=[hidden]\n  + tasks.max=4\n"
        f"new: only in {file}\n"
    )
    assert program.run("diff", "-f", str(file), "--prune") == (1, f"{out}left: in none of the files\n", "")


def test_what_is_in_no_file_goes_last_and_only_if_asked_for(program: Program, tmp_path: Path) -> None:
    for name in ("a", "old", "older"):
        program.client.put_config(name, SINK)
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"name": "a", **SINK}))
    out = program.ok("apply", "-f", str(file), "--prune", "--dry-run")
    assert out.endswith("1 unchanged, 2 deleted; nothing was sent\n") and "old: would be deleted\n" in out
    code, _, err = program.run("apply", "-f", str(file), "--prune")
    assert (code, "Delete old, older, which are in no file? This cannot be asked here" in err) == (2, True)
    file.write_text(json.dumps({"name": "a", **SINK, "tasks.max": "zero"}))
    assert program.run("apply", "-f", str(file), "--prune", "--yes")[0] == 1
    assert program.client.connectors() == ["a", "old", "older"], "nothing goes when something could not be done"
    file.write_text(json.dumps({"name": "a", **SINK}))
    assert program.ok("apply", "-f", str(file), "--prune", "--yes").endswith("1 unchanged, 2 deleted\n")
    assert program.client.connectors() == ["a"]
