from __future__ import annotations

import json
from pathlib import Path

from tests.cli.connect.conftest import SINK, Program

OTHER = {**SINK, "connector.class": "io.confluent.connect.s3.S3SinkConnector"}


def test_what_was_saved_comes_back_with_its_states(program: Program, tmp_path: Path) -> None:
    for name, state in (("runs", "RUNNING"), ("paused", "PAUSED"), ("stopped", "STOPPED")):
        program.client.create(name, {**SINK, "name": name}, state)
        program.ok("wait", "connector", name, "--for", state)
    file = tmp_path / "saved"
    assert program.ok("backup", str(file)) == f"3 connectors of Kafka cluster cluster in {file}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    configs = {name: program.client.config(name) for name in ("paused", "runs", "stopped")}
    for name in ("paused", "stopped"):
        program.client.delete(name)
    program.client.put_config("runs", {**SINK, "tasks.max": "3"})
    told = program.ok("restore", str(file), "--dry-run")
    assert "stopped: would be created, STOPPED: its store holds its position\n" in told
    assert told.endswith("nothing was changed\n") and program.client.connectors() == ["runs"]
    assert program.ok("restore", str(file)) == (
        "paused: created, PAUSED: its store holds its position\n"
        "runs: is there and differs; left as it is\n"
        "stopped: created, STOPPED: its store holds its position\n"
    )
    for name, state in (("paused", "PAUSED"), ("stopped", "STOPPED")):
        program.ok("wait", "connector", name, "--for", state)
        assert program.client.config(name) == configs[name]
    assert program.client.config("runs")["tasks.max"] == "3"


def test_what_is_no_backup_is_refused(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "file"
    code, _, err = program.run("restore", str(file))
    assert (code, "cannot be read: No such file" in err) == (2, True)
    file.write_text("{}")
    code, _, err = program.run("restore", str(file))
    assert (code, "is no backup: " in err) == (2, True)
    later = {"format": 2, "version": "9", "taken": "", "kafka_cluster_id": "", "connectors": []}
    file.write_text(json.dumps(later))
    code, _, err = program.run("restore", str(file))
    assert (code, "was made by release 9" in err) == (2, True)


def test_the_failure_of_one_does_not_keep_the_others(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "saved"
    program.client.put_config("good", SINK)
    program.ok("backup", str(file))
    document = json.loads(file.read_text())
    [good] = document["connectors"]
    document["connectors"] = [{**good, "name": "bad", "config": {**SINK, "tasks.max": "x"}}, good]
    file.write_text(json.dumps(document))
    program.client.delete("good")
    code, out, err = program.run("restore", str(file))
    assert (code, out) == (1, "good: created, RUNNING: its store holds its position\n")
    assert err.startswith("frazil: bad: POST") and "Invalid value x" in err
