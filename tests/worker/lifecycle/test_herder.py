from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping

import pytest

from frazil.declare.providers import ConfigProviders, EnvironmentProvider
from frazil.errors import AlreadyExists, ConfigError, NotFound, ServiceUnavailable
from frazil.worker.lifecycle import herder as herder_module
from frazil.worker.lifecycle.herder import Herder
from frazil.worker.lifecycle.restart_policy import RestartPolicy
from frazil.worker.lifecycle.store import FileConfigStore, StoredConnector
from tests.connectors.samples import MINIMAL_SINK
from tests.waits import PATIENCE_S, eventually
from tests.worker.lifecycle.runners import ScriptedFactory


def sink(name: str, **changes: str) -> dict[str, str | None]:
    return {**MINIMAL_SINK, "name": name, **{key.replace("__", "."): value for key, value in changes.items()}}


def only_slow(release: threading.Event) -> Callable[[str], None]:
    """The connector `slow` waits until it is released."""

    def wait(name: str) -> None:
        assert name != "slow" or release.wait(PATIENCE_S)

    return wait


def running(herder: Herder, name: str) -> bool:
    return herder.status(name).overall == "RUNNING"


def test_create_runs_a_connector_with_all_its_tasks(herder: Herder) -> None:
    info = herder.create("a", sink("a", tasks__max="3"))
    assert (info.name, info.tasks, info.type) == ("a", 0, "sink")
    eventually(lambda: running(herder, "a"))
    status = herder.status("a")
    assert [(number, task.state) for number, task in status.tasks.items()] == [(n, "RUNNING") for n in range(3)]
    assert herder.info("a").tasks == 3
    assert herder.task_configs("a")[2] == {
        **sink("a", tasks__max="3"),
        "task.class": "org.apache.iceberg.connect.IcebergSinkTask",
    }


def test_a_connector_that_exists_is_not_created_again(herder: Herder) -> None:
    herder.create("a", sink("a"))
    with pytest.raises(AlreadyExists, match="^Connector a already exists$"):
        herder.create("a", sink("a"))


def test_a_name_mismatch_and_invalid_configurations_change_nothing(herder: Herder, store: FileConfigStore) -> None:
    with pytest.raises(ConfigError, match=r"^Connector name configuration \(b\) doesn't match .* \(a\)$"):
        herder.put_config("a", sink("b"))
    with pytest.raises(ConfigError, match="contains the following 1 error"):
        herder.put_config("a", sink("a", tasks__max="0"))
    with pytest.raises(ConfigError, match="Invalid value  for configuration name: String may not be empty"):
        herder.create("", sink(""))
    assert herder.connectors() == []
    assert store.load() == {}


def test_put_config_creates_and_updates_and_an_equal_one_leaves_the_runner_alone(
    herder: Herder, factory: ScriptedFactory
) -> None:
    info, created = herder.put_config("a", sink("a"))
    assert (created, info.tasks) == (True, 0)
    eventually(lambda: running(herder, "a"))
    info, created = herder.put_config("a", sink("a", tasks__max="2"))
    assert (created, info.tasks) == (False, 1)
    eventually(lambda: running(herder, "a") and len(herder.status("a").tasks) == 2)
    herder.put_config("a", sink("a", tasks__max="2"))
    time.sleep(0.1)
    assert factory.life("a") == ["start", "stop", "start"]


def test_patch_merges_and_removes(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a", drop="me"))
    eventually(lambda: running(herder, "a"))
    info = herder.patch_config("a", {"tasks.max": "3", "add": "v", "drop": None, "never": None})
    assert info.config == {**sink("a"), "tasks.max": "3", "add": "v"}
    eventually(lambda: running(herder, "a") and len(herder.status("a").tasks) == 3)
    assert factory.last("a").config == info.config
    with pytest.raises(ConfigError, match="contains no connector type"):
        herder.patch_config("a", {"connector.class": None})


def test_pause_resume_stop_are_idempotent(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a"))
    eventually(lambda: running(herder, "a"))
    for operation, state in ((herder.pause, "PAUSED"), (herder.resume, "RUNNING"), (herder.stop, "STOPPED")):
        operation("a")
        operation("a")
        eventually(lambda state=state: herder.status("a").state == state)  # type: ignore[misc]
    assert herder.info("a").tasks == 0
    assert herder.task_configs("a") == []
    assert herder.status("a").tasks == {}
    assert factory.life("a") == ["start", "stop", "start", "stop"]
    herder.pause("a")
    eventually(lambda: herder.status("a").state == "PAUSED")
    assert herder.status("a").tasks == {}


def test_a_failed_connector_can_be_stopped_fixed_and_resumed(herder: Herder, factory: ScriptedFactory) -> None:
    def refuse(name: str) -> None:
        raise ConfigError("table does not exist")

    factory.before_start = refuse
    herder.create("a", sink("a"))
    eventually(lambda: herder.status("a").overall == "FAILED")
    assert "table does not exist" in (herder.status("a").tasks[0].trace or "")
    assert (herder.status("a").state, herder.status("a").trace) == ("RUNNING", None)
    herder.stop("a")
    eventually(lambda: herder.status("a").state == "STOPPED")
    factory.before_start = lambda name: None
    herder.put_config("a", sink("a", iceberg__tables="db.other"))
    assert herder.status("a").state == "STOPPED"
    herder.resume("a")
    eventually(lambda: running(herder, "a"))


def test_a_connector_may_be_created_paused_or_stopped(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a"), "PAUSED")
    herder.create("b", sink("b"), "STOPPED")
    eventually(lambda: herder.status("a").state == "PAUSED" and herder.status("b").state == "STOPPED")
    assert herder.status("a").tasks == {}
    herder.resume("a")
    eventually(lambda: running(herder, "a"))
    assert factory.life("b") == []


def test_restart_starts_anew_what_was_chosen(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a"))
    eventually(lambda: running(herder, "a"))
    healthy = herder.restart("a", include_tasks=True, only_failed=True)
    assert (healthy.state, healthy.tasks[0].state) == ("RUNNING", "RUNNING")
    assert factory.life("a") == ["start"]
    chosen = herder.restart("a", include_tasks=True)
    assert (chosen.state, chosen.tasks[0].state) == ("RESTARTING", "RESTARTING")
    eventually(lambda: factory.life("a") == ["start", "stop", "start"])
    eventually(lambda: running(herder, "a"))
    factory.last("a").fail("BadRecord: x")
    eventually(lambda: herder.status("a").overall == "FAILED")
    for only_failed in (False, True):
        untouched = herder.restart("a", only_failed=only_failed)
        assert (untouched.state, untouched.tasks[0].state) == ("RUNNING" if only_failed else "RESTARTING", "FAILED")
    assert herder.status("a").overall == "FAILED"
    failed = herder.restart("a", include_tasks=True, only_failed=True)
    assert (failed.state, failed.tasks[0].state, failed.tasks[0].trace) == ("RUNNING", "RESTARTING", "BadRecord: x")
    assert herder.status("a").state == "RUNNING"
    eventually(lambda: running(herder, "a"))


def test_restart_of_a_stopped_connector_leaves_it_stopped(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a"), "STOPPED")
    eventually(lambda: herder.status("a").state == "STOPPED")
    assert herder.restart("a", include_tasks=True).state == "RESTARTING"
    time.sleep(0.1)
    assert herder.status("a").state == "STOPPED"
    assert factory.life("a") == []


def test_restart_of_a_task(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a"))
    eventually(lambda: running(herder, "a"))
    with pytest.raises(NotFound, match="^Unknown task: a-7$"):
        herder.restart_task("a", 7)
    herder.restart_task("a", 0)
    eventually(lambda: factory.life("a") == ["start", "stop", "start"])


def test_deleted_connectors_are_gone_and_come_back_in_order(herder: Herder, factory: ScriptedFactory) -> None:
    herder.create("a", sink("a"))
    eventually(lambda: running(herder, "a"))
    herder.delete("a")
    with pytest.raises(NotFound, match="^No status found for connector a$"):
        herder.status("a")
    herder.create("a", sink("a", tasks__max="2"))
    eventually(lambda: running(herder, "a") and len(herder.status("a").tasks) == 2)
    assert factory.life("a") == ["start", "stop", "start"]


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (lambda herder: herder.info("x"), "Connector x not found"),
        (lambda herder: herder.task_configs("x"), "Connector x not found"),
        (lambda herder: herder.patch_config("x", {}), "Connector x not found"),
        (lambda herder: herder.delete("x"), "Connector x not found"),
        (lambda herder: herder.status("x"), "No status found for connector x"),
        (lambda herder: herder.task_status("x", 0), "No status found for task x-0"),
        (lambda herder: herder.pause("x"), "Unknown connector x"),
        (lambda herder: herder.resume("x"), "Unknown connector x"),
        (lambda herder: herder.stop("x"), "Unknown connector x"),
        (lambda herder: herder.restart("x"), "Unknown connector: x"),
        (lambda herder: herder.restart_task("x", 0), "Unknown connector: x"),
    ],
)
def test_messages_for_an_unknown_connector(herder: Herder, operation: object, message: str) -> None:
    assert callable(operation)
    with pytest.raises(NotFound, match=f"^{message}$"):
        operation(herder)


def test_connectors_come_back_in_their_target_state(store: FileConfigStore, factory: ScriptedFactory) -> None:
    first = Herder(store, ScriptedFactory(), "w:1")
    first.start()
    first.create("a", sink("a"))
    first.create("b", sink("b"))
    first.stop("b")
    assert first.close(10.0)
    second = Herder(store, factory, "w:1")
    assert not second.started
    second.start()
    eventually(lambda: second.status("a").state == "RUNNING" and second.status("b").state == "STOPPED")
    assert second.close(10.0)
    assert factory.life("b") == []
    assert factory.life("a") == ["start", "stop"]


def test_a_stored_configuration_of_another_version_does_not_keep_the_worker_down(
    store: FileConfigStore, factory: ScriptedFactory
) -> None:
    store.put("old", StoredConnector({"name": "old", "connector.class": "gone.Sink", "tasks.max": "x"}, "RUNNING"))
    herder = Herder(store, factory, "w:1")
    herder.start()
    eventually(lambda: herder.status("old").state == "RUNNING")
    assert herder.status("old").type == "unknown"
    assert herder.close(10.0)


def test_a_stored_number_of_tasks_that_is_too_large_is_not_shown(
    store: FileConfigStore, factory: ScriptedFactory
) -> None:
    store.put("old", StoredConnector({"name": "old", "connector.class": "gone.Sink", "tasks.max": "20000"}, "RUNNING"))
    herder = Herder(store, factory, "w:1")
    herder.start()
    eventually(lambda: len(herder.status("old").tasks) == 10_000)
    assert herder.info("old").tasks == 10_000
    assert herder.close(10.0)


def test_close_names_what_did_not_stop_in_time(
    store: FileConfigStore, factory: ScriptedFactory, caplog: pytest.LogCaptureFixture
) -> None:
    herder = Herder(store, factory, "w:1")
    herder.start()
    herder.create("slow", sink("slow"))
    herder.create("quick", sink("quick"))
    eventually(lambda: running(herder, "slow") and running(herder, "quick"))
    release = threading.Event()
    factory.before_stop = only_slow(release)
    assert not herder.close(timeout=0.3)
    assert "did not stop within 0.3 s: slow;" in caplog.text
    with pytest.raises(ServiceUnavailable, match="shutting down"):
        herder.pause("quick")
    release.set()
    assert herder.close(timeout=PATIENCE_S)


def test_connectors_do_not_wait_for_each_other(herder: Herder, factory: ScriptedFactory) -> None:
    release = threading.Event()
    factory.before_start = only_slow(release)
    herder.create("slow", sink("slow"))
    herder.create("quick", sink("quick"))
    eventually(lambda: running(herder, "quick"))
    assert herder.status("slow").state == "UNASSIGNED"
    herder.pause("quick")
    eventually(lambda: herder.status("quick").state == "PAUSED")
    release.set()
    eventually(lambda: running(herder, "slow"))


def test_many_threads_at_once_end_where_the_last_wish_of_each_connector_says(
    store: FileConfigStore, factory: ScriptedFactory
) -> None:
    herder = Herder(store, factory, "w:1", RestartPolicy(first_s=0.01))
    herder.start()
    targets = {"pause": "PAUSED", "resume": "RUNNING", "stop": "STOPPED", "restart": None}
    expected: dict[str, str] = {}

    def live(name: str) -> None:
        dice = random.Random(name)
        herder.create(name, sink(name))
        state = "RUNNING"
        for _ in range(30):
            wish = dice.choice([*targets, "recreate"])
            if wish == "recreate":
                herder.delete(name)
                herder.create(name, sink(name))
                state = "RUNNING"
            else:
                getattr(herder, wish)(name)
                state = targets[wish] or state
            herder.connectors()
            herder.status(name)
        expected[name] = state

    threads = [threading.Thread(target=live, args=(f"c{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(expected) == 6
    for name, state in expected.items():
        eventually(lambda name=name, state=state: herder.status(name).state == state)  # type: ignore[misc]
    assert {name: stored.target_state for name, stored in store.load().items()} == expected
    assert herder.close(10.0)
    for name in expected:
        life = factory.life(name)
        assert life == ["start", "stop"] * (len(life) // 2), f"{name}: two runners at a time, or one left: {life}"


def test_an_action_on_a_stopped_connector_gets_its_stored_configuration(herder: Herder) -> None:
    herder.create("a", sink("a", my__key="${env:X}"), "STOPPED")
    assert herder.while_stopped("a", lambda config: config["my.key"]) == "${env:X}"
    herder.resume("a")
    with pytest.raises(ConfigError, match="^Connectors must be in the STOPPED state .* '/connectors/a/stop' endpoint$"):
        herder.while_stopped("a", lambda config: None)
    with pytest.raises(NotFound, match="^Connector x not found$"):
        herder.while_stopped("x", lambda config: None)


def test_a_stop_that_is_taken_back_refuses_the_action(herder: Herder, factory: ScriptedFactory) -> None:
    entered, release = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        entered.set()
        assert release.wait(PATIENCE_S)

    factory.before_stop = wait
    herder.create("slow", sink("slow"))
    eventually(lambda: running(herder, "slow"))
    herder.stop("slow")
    assert entered.wait(PATIENCE_S)
    refused: list[Exception] = []

    def act() -> None:
        try:
            herder.while_stopped("slow", lambda config: None)
        except ConfigError as error:
            refused.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    thread.join(0.2)
    herder.resume("slow")
    release.set()
    thread.join(PATIENCE_S)
    assert str(refused[0]).startswith("Connectors must be in the STOPPED state")


def test_an_action_that_takes_too_long(herder: Herder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(herder_module, "_ACTION_S", 0.05)
    herder.create("a", sink("a"), "STOPPED")
    release = threading.Event()
    with pytest.raises(ServiceUnavailable, match="Request timed out .* connector a is stopped"):
        herder.while_stopped("a", lambda config: release.wait(PATIENCE_S))
    release.set()


def test_placeholders_are_kept_and_unknown_providers_warned_of(
    store: FileConfigStore, factory: ScriptedFactory, caplog: pytest.LogCaptureFixture
) -> None:
    providers = ConfigProviders({"env": EnvironmentProvider({"T": "secret-topic", "N": "2"})})
    herder = Herder(store, factory, "w:1", providers=providers)
    herder.start()
    config = sink("a", topics="${env:T}", tasks__max="${env:N}", extra="${vault:x}")
    herder.create("a", config)
    eventually(lambda: running(herder, "a"))
    assert factory.last("a").config == {**config, "topics": "secret-topic", "tasks.max": "2"}
    assert herder.info("a").config == store.load()["a"].config == config
    assert herder.task_configs("a")[0]["topics"] == "${env:T}"
    assert "extra: ${vault:x} stays as it is: the worker has no provider vault" in caplog.text
    assert "secret-topic" not in caplog.text
    assert herder.close(10)


def test_what_was_found_for_a_connector_is_kept_until_it_is_removed(store: FileConfigStore) -> None:
    key, found = "frazil.sql.columns.t", iter(["id INT", "id BIGINT"])

    def find(name: str, config: Mapping[str, str]) -> dict[str, str]:
        return {} if config.get(key) else {key: next(found)}

    made = Herder(store, ScriptedFactory(), "w:1", find=find)
    made.start()
    try:
        sent = sink("a", topics="t", frazil__sql__schema="inferred")
        assert made.create("a", sent).config[key] == "id INT"
        assert made.put_config("a", sent)[0].config[key] == "id INT"
        assert made.patch_config("a", {"tasks.max": "2"}).config[key] == "id INT"
        assert made.patch_config("a", {key: None}).config[key] == "id BIGINT"
        assert store.load()["a"].config[key] == "id BIGINT"
    finally:
        made.close()
