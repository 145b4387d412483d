"""What a client asks of a Kafka Connect worker, from start to end of a connector."""

from __future__ import annotations

from typing import Any

from tests.worker.rest.comparison import JSON, MISTAKE, Sink, Step

KEYS = "/connector-plugins/{alias}/config"
VALIDATE = f"{KEYS}/validate"
MISSING: Any = Ellipsis


def new(**more: Any) -> dict[str, Any]:
    return {"name": "c", "config": Sink({"name": MISSING}), **more}


def wrong(says: bool = True, **changes: Any) -> Step:
    """Create a connector whose configuration has mistakes."""
    config = Sink({key.replace("__", "."): value for key, value in changes.items()})
    return Step("POST", "/connectors", {"name": "wrong", "config": config}, says=says)


def change(partition: Any = 0, offset: Any = 1, topic: Any = "{topic}") -> dict[str, Any]:
    return {
        "partition": {"kafka_topic": topic, "kafka_partition": partition},
        "offset": None if offset is None else {"kafka_offset": offset},
    }


def move(*entries: Any, differs: tuple[int, int] | None = None) -> Step:
    return Step("PATCH", "/connectors/c/offsets", {"offsets": list(entries)}, differs=differs)


WORKER = [
    Step("GET", "/"),
    Step("GET", "/health", equal=True),
    Step("GET", "/nope"),
    Step("GET", "/metrics"),
    Step("GET", "/connectors", equal=True),
    Step("GET", "/connectors/", equal=True),
    Step("HEAD", "/connectors"),
    Step("HEAD", "/connectors/x"),
    Step("OPTIONS", "/connectors", headers={"accept": "text/plain"}),
    Step("OPTIONS", "/connectors/c/config", headers={"accept": "application/json"}),
    Step("DELETE", "/connectors"),
    Step("GET", "/connectors", headers={"accept": "text/html"}),
    Step("GET", "/connectors/x", headers={"accept": "text/html"}),
    Step("GET", "/nope", headers={"accept": "text/html"}),
    Step("GET", "/connectors", headers={"accept": "text/html, application/*;q=0.1"}, equal=True),
    Step("GET", "/connectors", raw="{", headers={"content-type": "text/plain"}),
    Step("GET", "/connectors", raw="{", headers=JSON, equal=True),
    Step("GET", "/connectors", headers={"content-type": "text/plain"}),
]

PLUGINS = [
    Step("GET", "/connector-plugins"),
    Step("GET", "/connector-plugins/"),
    Step("GET", "/connector-plugins?connectorsOnly=TRUE"),
    Step("GET", "/connector-plugins?connectorsOnly=no"),
    Step("GET", KEYS),
    Step("GET", f"{KEYS}?version=latest"),
    Step("GET", f"{KEYS}?version=99", says=False),
    Step("GET", f"{KEYS}?version=[x"),
    Step("GET", "/connector-plugins/{alias}"),
    Step("GET", "/connector-plugins/Nope/config"),
    Step("GET", "/connector-plugins/JsonConverter/config"),
    Step("GET", "/connector-plugins/SimpleHeaderConverter/config", equal=True),
    Step("PUT", VALIDATE, Sink()),
    Step("PUT", VALIDATE, {"connector.class": "{class}"}),
    Step("PUT", "/connector-plugins/S3Sink/config/validate", {"connector.class": "{class}"}),
    Step("PUT", VALIDATE, {"topics": "t"}, differs=MISTAKE),
    Step("PUT", VALIDATE, {"connector.class": "a.{alias}"}, differs=MISTAKE),
    Step("PUT", VALIDATE, raw="", headers=JSON, differs=MISTAKE),
]

MISTAKES = [
    Step("POST", "/connectors", {"config": Sink({"name": MISSING})}),
    Step("POST", "/connectors", {"name": "  ", "config": Sink({"name": MISSING})}),
    Step("POST", "/connectors", {"name": "a\u0007b", "config": Sink({"name": MISSING})}),
    Step("POST", "/connectors", {"name": "c"}, differs=MISTAKE),
    Step("POST", "/connectors", new(extra=1), differs=MISTAKE),
    Step("POST", "/connectors", new(initial_state="ASLEEP"), differs=MISTAKE),
    Step("POST", "/connectors", [], differs=MISTAKE),
    Step("POST", "/connectors", new(config={"k": {}}), differs=MISTAKE),
    Step("POST", "/connectors", raw='{"name": ', headers=JSON, differs=MISTAKE),
    Step("POST", "/connectors", raw="", headers=JSON, differs=MISTAKE),
    Step("POST", "/connectors", raw="{}", headers={"content-type": "text/plain"}),
    Step("POST", "/connectors", raw="{}"),
    Step("POST", "/connectors", new(config=Sink({"name": "other"}))),
    wrong(name=MISSING, connector__class=MISSING, says=False),
    wrong(name=MISSING, connector__class="a.B", says=False),
    wrong(name=MISSING, topics=MISSING),
    wrong(name=MISSING, topics__regex="t.*"),
    wrong(name=MISSING, topics=MISSING, topics__regex="[", says=False),
    wrong(name=MISSING, tasks__max="many"),
    wrong(name=MISSING, tasks__max="0"),
    wrong(name=MISSING, errors__tolerance="some"),
    wrong(name=MISSING, errors__log__enable="maybe"),
    wrong(name=MISSING, errors__retry__timeout="1.5"),
    wrong(name=MISSING, config__action__reload="never"),
    wrong(name=MISSING, value__converter="a.B"),
    wrong(name=MISSING, stray=None),
    wrong(name=MISSING, errors__tolerance="all", errors__deadletterqueue__topic__name="{topic}"),
    Step("GET", "/connectors", equal=True),
]

UNKNOWN = [
    *(Step("GET", f"/connectors/x{path}") for path in ("", "/config", "/status", "/tasks", "/tasks/0/status")),
    Step("GET", "/connectors/x/offsets"),
    Step("GET", "/connectors/x/topics", equal=True),
    Step("PUT", "/connectors/x/topics/reset"),
    Step("DELETE", "/connectors/x"),
    *(Step("PUT", f"/connectors/x/{verb}") for verb in ("pause", "resume", "stop")),
    *(Step("POST", f"/connectors/x/{path}") for path in ("restart", "restart?includeTasks=true", "tasks/0/restart")),
    Step("PATCH", "/connectors/x/config", {}),
    Step("PATCH", "/connectors/x/offsets", {"offsets": [change()]}),
    Step("DELETE", "/connectors/x/offsets"),
]

LIFE = [
    Step("POST", "/connectors", new(name=" c ")),
    Step("POST", "/connectors", new()),
    Step("GET", "/connectors", equal=True, until="c=RUNNING"),
    *(Step("GET", f"/connectors?expand={e}") for e in ("status", "info", "status&expand=info", "x")),
    *(Step("GET", f"/connectors/c{path}") for path in ("", "/config", "/status", "/tasks", "/tasks/0/status")),
    *(Step("GET", f"/connectors/c/tasks{path}") for path in ("/7/status", "/x/status", "-config")),
    Step("PUT", "/connectors/c/config", Sink({"name": "c"})),
    Step("PUT", "/connectors/c/config", Sink({"name": "other"})),
    Step("PUT", "/connectors/c/config", [], differs=MISTAKE),
    Step("PUT", "/connectors/c/config", raw="", headers=JSON, differs=MISTAKE),
    Step("PATCH", "/connectors/c/config", {"add": "v", "none": None}),
    Step("PATCH", "/connectors/c/config", {}),
    Step("PATCH", "/connectors/c/config", {"tasks.max": "0"}),
    Step("PATCH", "/connectors/c/config", {"connector.class": None}, says=False),
    Step("PATCH", "/connectors/c/config", raw="", headers=JSON, differs=MISTAKE),
    Step("PUT", "/connectors/c/pause", until="c=RUNNING"),
    Step("PUT", "/connectors/c/pause"),
    Step("GET", "/connectors/c/status", until="c=PAUSED"),
    Step("PUT", "/connectors/c/resume"),
    Step("POST", "/connectors/c/restart", until="c=RUNNING"),
    Step("POST", "/connectors/c/restart?includeTasks=False", until="c=RUNNING"),
    Step("POST", "/connectors/c/restart?includeTasks=true&onlyFailed=true", until="c=RUNNING"),
    Step("POST", "/connectors/c/restart?includeTasks=true", until="c=RUNNING"),
    Step("POST", "/connectors/c/tasks/0/restart", until="c=RUNNING"),
    Step("POST", "/connectors/c/tasks/7/restart"),
    Step("PUT", "/connectors/c/topics/reset", until="c=RUNNING"),
    Step("GET", "/connectors/c/topics"),
]

OFFSETS = [
    move(change()),
    Step("DELETE", "/connectors/c/offsets"),
    Step("PUT", "/connectors/c/stop"),
    Step("PUT", "/connectors/c/stop"),
    Step("GET", "/connectors/c/status", until="c=STOPPED"),
    Step("GET", "/connectors/c"),
    Step("GET", "/connectors/c/tasks", equal=True),
    Step("POST", "/connectors/c/tasks/0/restart", differs=(409, 409)),
    Step("PATCH", "/connectors/c/offsets", {}),
    Step("PATCH", "/connectors/c/offsets", raw="", headers=JSON, differs=MISTAKE),
    move(),
    move({}),
    move({"partition": {}}),
    move(change("p")),
    move(change(1.5)),
    move(change(topic=None)),
    move({"partition": {"kafka_topic": "{topic}", "kafka_partition": None}}),
    move({**change(), "offset": {}}),
    move(change(0, "far")),
    move(None, differs=MISTAKE),
    move(change(topic="nowhere"), differs=MISTAKE),
    move(change(7), differs=MISTAKE),
    move(change(0, -1), differs=MISTAKE),
    move(change("0", "1"), change(1, 2)),
    Step("GET", "/connectors/c/offsets", equal=True),
    move(change(1, None)),
    Step("GET", "/connectors/c/offsets", equal=True),
    move(change(0, 1000)),
    Step("DELETE", "/connectors/c/offsets"),
    Step("DELETE", "/connectors/c/offsets"),
    Step("GET", "/connectors/c/offsets", equal=True),
    Step("POST", "/connectors/c/restart"),
    Step("DELETE", "/connectors/c"),
    Step("GET", "/connectors/c/status", until="c=gone"),
    Step("POST", "/connectors", new(initial_state="paused")),
    Step("GET", "/connectors/c/status", until="c=PAUSED"),
    Step("DELETE", "/connectors/c"),
    Step("PUT", "/connectors/a%20b+%C3%BC/config", Sink({"name": MISSING})),
    Step("GET", "/connectors/a%20b+%C3%BC/config"),
    Step("DELETE", "/connectors/a%20b+%C3%BC"),
]

LOGGERS = [
    Step("GET", "/admin/loggers/root"),
    Step("GET", "/admin/loggers/ROOT"),
    Step("GET", "/admin/loggers/no.such.logger"),
    Step("PUT", "/admin/loggers/compared.one", {"level": "debug"}, equal=True),
    Step("PUT", "/admin/loggers/compared.one", {"level": "DEBUG"}, equal=True),
    Step("GET", "/admin/loggers/compared.one"),
    Step("PUT", "/admin/loggers/compared", {"level": "ERROR"}, equal=True),
    Step("PUT", "/admin/loggers/compared?scope=x", {"level": "WARN"}, equal=True),
    Step("PUT", "/admin/loggers/compared?scope=cluster", {"level": "WARN"}),
    Step("PUT", "/admin/loggers/compared", {}),
    Step("PUT", "/admin/loggers/compared", {"level": "LOUD"}),
    Step("PUT", "/admin/loggers/compared", {"level": 5}),
    Step("PUT", "/admin/loggers/compared", raw="", headers=JSON, differs=MISTAKE),
]

STEPS = [*WORKER, *PLUGINS, *MISTAKES, *UNKNOWN, *LIFE, *OFFSETS, *LOGGERS]
