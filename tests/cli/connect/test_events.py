from __future__ import annotations

import json
import re

from tests.cli.connect.conftest import SINK, Program


def test_events_tell_what_was_changed_newest_first(program: Program) -> None:
    for name in ("a", "b"):
        program.client.put_config(name, SINK)
    program.ok("pause", "connector", "a")
    found = json.loads(program.ok("events", "-o", "json"))
    assert [(each["connector"], each["message"]) for each in found] == [
        ("a", "PUT /connectors/a/pause: 202"),
        ("b", "PUT /connectors/b/config: 201"),
        ("a", "PUT /connectors/a/config: 201"),
    ]
    assert program.ok("events", "c") == "There are no events of connector c.\n"
    header, line = program.ok("events", "b", "-n", "5").splitlines()
    assert header.split() == ["time", "event", "connector", "by", "message"]
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +request +b +127.0.0.1 +PUT /connectors/b/config: 201", line)
