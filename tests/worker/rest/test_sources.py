"""Source connectors on the real runtime of Kafka Connect, which the REST API starts and asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from frazil.cli.main import main
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka import topics as kafka_topics
from frazil.environment.settings import LOOPBACK
from frazil.errors import AlreadyExists, ConfigError, NotFound, ServiceUnavailable
from frazil.stack.jars import CONNECT_FILE, resolve
from frazil.stack.java import find_java
from frazil.stack.local import LocalStack
from frazil.stack.plugins import install_plugin
from frazil.stack.ports import unused
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.rest.app import rest_app
from frazil.worker.rest.info import WorkerInfo
from frazil.worker.server import serve
from frazil.worker.sources.runtime import SourceRuntime
from frazil.worker.watch.active_topics import ActiveTopics
from frazil.worker.watch.loggers import Loggers
from tests.connectors.samples import MINIMAL_SINK
from tests.harness import messages
from tests.isolation import isolated_settings
from tests.waits import PATIENCE_S, eventually
from tests.worker.watch.positions import KeptPositions

pytestmark = pytest.mark.stack

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = {key: value for key, value in MINIMAL_SINK.items() if key != "name"}


def patiently(call: Callable[[], object]) -> None:
    """Repeat a request while the runtime still starts, which takes long on a busy machine."""

    def answered() -> bool:
        try:
            call()
        except ServiceUnavailable:
            return False
        return True

    eventually(answered)


def _settled(answer: httpx.Response) -> httpx.Response | None:
    return None if answer.is_server_error or answer.status_code == httpx.codes.CONFLICT else answer


def pid_of(runtime: SourceRuntime) -> int | None:
    return runtime.pid


@pytest.fixture
def make_runtime(stack: LocalStack, tmp_path: Path) -> Callable[[], SourceRuntime]:
    """Makes the runtime of one worker, as each of its starts does."""
    own = {"KAFKA_BOOTSTRAP_SERVERS": stack.settings.bootstrap_servers, "SOURCE_CONNECT_PORT": str(unused(1)[0])}
    settings = isolated_settings(tmp_path / "home", **own)
    java = find_java(settings.env)
    resolve(CONNECT_FILE, java, settings.cache, lambda text: None, settings.env)
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "file").symlink_to(CONNECT_FILE.folder(settings.cache), target_is_directory=True)
    properties = {
        "plugin.path": str(plugins),
        "group.id": f"group-{settings.source_connect_port}",
        "offset.flush.interval.ms": "500",
    }
    return lambda: SourceRuntime(settings, properties)


@pytest.fixture
def runtime(make_runtime: Callable[[], SourceRuntime]) -> Iterator[SourceRuntime]:
    made = make_runtime()
    yield made
    made.close()
    assert made.pid is None


def test_life_of_a_source_connector(
    runtime: SourceRuntime,
    make_runtime: Callable[[], SourceRuntime],
    herder: Herder,
    stack: LocalStack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bootstrap = stack.settings.bootstrap_servers
    topic = tmp_path.name.replace("_", "-")
    kafka_topics.ensure_topics(bootstrap, {topic: (1, {})})
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n")
    source = {"connector.class": SOURCE, "file": str(lines), "topic": topic}
    runtime.start()
    assert (runtime.connectors(), pid_of(runtime)) == ({}, None)
    info = WorkerInfo("cluster-1", KeptPositions(), ActiveTopics(), Loggers())
    server = serve(rest_app(herder, info, sources=runtime), LOOPBACK, 0, "KAFKA_CONNECT_PORT")
    url = f"http://{LOOPBACK}:{server.port}"
    try:
        with ConnectClient(url) as client:
            assert {"FileStreamSourceConnector", "IcebergSinkConnector"} <= {
                plugin["class"].rpartition(".")[2] for plugin in client.plugins()
            }
            assert pid_of(runtime) is None, "a list of plugins needs no JVM"
            client.put_config("sink", SINK)
            with pytest.raises(ConfigError, match="Failed to find any class"):
                client.put_config("typo", {**source, "connector.class": "NoSuchConnector"})
            with pytest.raises(ConfigError, match="classes of this worker and those of plugin.path do not replace"):
                client.put_config("sink", source)
            with pytest.raises(AlreadyExists, match="Connector sink already exists"):
                client.create("sink", source, "RUNNING")
            assert (runtime.connectors(), pid_of(runtime)) == ({}, None)
            patiently(lambda: client.create("lines", source, "RUNNING"))
            with pytest.raises(AlreadyExists, match="Connector lines already exists"):
                client.create("lines", SINK, "RUNNING")
            # Until it runs its status is 404, as Kafka Connect answers.
            eventually(lambda: client.expanded().get("lines", {"status": {}})["status"].get("tasks"))
            assert len(client.status("lines")["tasks"]) == 1
            assert client.connectors() == ["lines", "sink"]
            assert set(client.expanded()["lines"]) == {"info", "status"}
            assert client.info("lines")["type"] == "source"
            assert "file" in {key["name"] for key in client.plugin_keys("FileStreamSource")}
            assert client.validate({"connector.class": SOURCE, "name": "x"})
            eventually(lambda: [m.value() for m in messages(bootstrap, topic)] == [b'"one"', b'"two"'])
            (offset,) = eventually(lambda: client.offsets("lines"))
            assert offset == {"partition": {"filename": str(lines)}, "offset": {"position": 8}}
            created = httpx.post(
                f"{url}/connectors", json={"name": "sp ace", "config": {**source, "file": str(tmp_path / "none")}}
            )
            assert created.headers["location"] == f"{url}/connectors/sp%20ace"
            client.delete("sp ace")
            eventually(lambda: client.connectors() == ["lines", "sink"])

            other = SourceRuntime(isolated_settings(tmp_path / "other", SOURCE_CONNECT_URL=runtime.url), {})
            assert "lines" in other.connectors()
            assert SOURCE in {plugin.class_name for plugin in other.plugins()}
            other.close()
            pid = pid_of(runtime)
            assert pid is not None, "a cluster of somebody else's is left alone"
            psutil.Process(pid).kill()
            eventually(lambda: client.expanded()["lines"]["status"]["connector"]["state"] == "UNASSIGNED")
            assert client.connectors() == ["lines", "sink"]
            lines.write_text("one\ntwo\nthree\n")
            eventually(lambda: len(messages(bootstrap, topic)) == 3)
            assert [m.value() for m in messages(bootstrap, topic)] == [b'"one"', b'"two"', b'"three"']

            eventually(lambda: client.offsets("lines")[0]["offset"] == {"position": 14})
            monkeypatch.setenv("KAFKA_CONNECT_URL", url)
            with pytest.raises(SystemExit):
                main(["offsets", "get", "lines"])
            assert '{"position": 14}' in capsys.readouterr().out
            client.delete("lines")
            with pytest.raises(NotFound):
                client.status("lines")
            assert client.connectors() == ["sink"]
            assert runtime.seen() == {}, "it is forgotten at once"
    finally:
        server.stop()
    runtime.close()
    again = make_runtime()
    assert (again.connectors(), again.resume(), again.pid) == ({}, False, None), "no JVM for nothing"
    again.close()


def test_answers_of_the_runtime_have_no_secret_where_the_worker_hides_them(
    runtime: SourceRuntime, herder: Herder, stack: LocalStack, tmp_path: Path
) -> None:
    topic = tmp_path.name.replace("_", "-")
    kafka_topics.ensure_topics(stack.settings.bootstrap_servers, {topic: (1, {})})
    source = {
        "connector.class": SOURCE,
        "file": str(tmp_path / "none"),
        "topic": topic,
        "database.password": "s3cr3t-password",
        "producer.override.sasl.jaas.config": 'x.Module required username="u" password="s3cr3t-jaas";',
    }
    info = WorkerInfo("cluster-1", KeptPositions(), ActiveTopics(), Loggers())
    server = serve(rest_app(herder, info, sources=runtime, masks=True), LOOPBACK, 0, "KAFKA_CONNECT_PORT")
    try:
        with httpx.Client(base_url=f"http://{LOOPBACK}:{server.port}", timeout=PATIENCE_S, trust_env=False) as client:
            patiently(runtime.ensure)
            answers = [
                client.post("/connectors", json={"name": "hidden", "config": source}),
                client.put("/connectors/hidden/config", json=source),
                *(client.get(f"/connectors/hidden{path}") for path in ("", "/config")),
                client.get("/connectors?expand=info"),
                client.put(f"/connector-plugins/{SOURCE}/config/validate", json=source),
            ]
            assert [answer.status_code for answer in answers] == [201, *[200] * 5]
            assert "s3cr3t" not in "".join(answer.text for answer in answers)
            shown = answers[3].json()
            assert shown["database.password"] == "[hidden]"
            changed = {**shown, "tasks.max": "1"}
            # Kafka Connect refuses requests while it rebalances after a change.
            eventually(lambda: client.put("/connectors/hidden/config", json=changed).status_code == 200)
            kept = {**source, "name": "hidden", "tasks.max": "1"}
            eventually(lambda: runtime.call("GET", "/connectors/hidden/config").json() == kept)
            forged = {**shown, "other.password": "[hidden]"}
            refused = eventually(lambda: _settled(client.put("/connectors/hidden/config", json=forged)))
            assert (refused.status_code, "send the value itself" in refused.json()["message"]) == (400, True)
            eventually(lambda: client.delete("/connectors/hidden").status_code == 204)
    finally:
        server.stop()


@pytest.mark.faults
def test_a_plugin_that_came_later_is_there_once_it_is_asked_for(stack: LocalStack, tmp_path: Path) -> None:
    own = {"KAFKA_BOOTSTRAP_SERVERS": stack.settings.bootstrap_servers, "SOURCE_CONNECT_PORT": str(unused(1)[0])}
    settings = isolated_settings(tmp_path / "home", **own)
    made = SourceRuntime(settings, {"group.id": f"later-{settings.source_connect_port}"})
    try:
        assert (made.possible, made.plugins()) == (False, [])
        install_plugin(settings, "file", lambda text: None)
        assert made.possible
        made.ensure("FileStreamSource")
        first = pid_of(made)
        install_plugin(settings, "mirror", lambda text: None)
        made.ensure("FileStreamSource")
        assert pid_of(made) == first, "nothing has asked for it"
        made.ensure("MirrorHeartbeatConnector")
        second = pid_of(made)
        assert second != first
        told = made.call("GET", "/connector-plugins").json()
        assert "MirrorHeartbeatConnector" in {plugin["class"].rpartition(".")[2] for plugin in told}
        made.ensure("MirrorHeartbeatConnector")
        assert pid_of(made) == second
    finally:
        made.close()
