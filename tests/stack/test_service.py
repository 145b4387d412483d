from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from frazil.environment.settings import LOOPBACK
from frazil.errors import PortTaken, ServiceDied, StackError
from frazil.stack import service as module
from frazil.stack.ports import Port, unused
from frazil.stack.service import Service, Status, start_all
from tests.isolation import quiet
from tests.waits import eventually

SERVER = [sys.executable, "-m", "http.server", "--bind", LOOPBACK]
Make = Callable[..., Service]


def answers(port: int) -> str | None:
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/", timeout=2):
            return None
    except (urllib.error.URLError, OSError) as error:
        return str(error)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes services that are web servers; whatever runs at the end is stopped."""
    made: list[Service] = []

    def build(
        name: str = "web", command: Sequence[str] | None = None, port: int | None = None, timeout: float = 20
    ) -> Service:
        number = port or unused(1)[0]
        service = Service(
            name=name,
            home=tmp_path / "home",
            command=lambda _: command or [*SERVER, str(number)],
            ready=lambda: answers(number),
            ports=(Port(number, "WEB_PORT"),),
            env=os.environ,
            start_timeout=timeout,
        )
        made.append(service)
        return service

    yield build
    for service in made:
        service.stop()


def test_life_of_a_service(make: Make) -> None:
    service = make()
    assert service.state().status is Status.STOPPED
    assert service.start(quiet) is True
    state = service.state()
    assert state.status is Status.RUNNING
    assert state.pid is not None
    assert state.started == pytest.approx(time.time(), abs=30)
    assert service.stop() is True
    assert service.state().status is Status.STOPPED
    assert not psutil.pid_exists(state.pid)


def test_a_second_start_does_nothing(make: Make) -> None:
    service = make()
    service.start(quiet)
    pid = service.state().pid
    assert service.start(quiet) is False
    assert service.state().pid == pid


def test_every_start_is_completed(make: Make) -> None:
    completed: list[Status] = []
    plain = make()
    service = dataclasses.replace(plain, complete=lambda: completed.append(plain.state().status))
    service.start(quiet)
    service.start(quiet)
    assert completed == [Status.RUNNING, Status.RUNNING]


def test_a_start_that_cannot_be_completed_leaves_nothing(make: Make) -> None:
    def refuse() -> None:
        raise StackError("no catalog")

    service = dataclasses.replace(make(), complete=refuse)
    with pytest.raises(StackError, match="no catalog"):
        service.start(quiet)
    assert service.state().status is Status.STOPPED


def test_stop_is_idempotent_and_makes_no_home(make: Make) -> None:
    service = make()
    assert service.stop() is False
    assert not service.home.exists()
    service.start(quiet)
    service.stop()
    assert service.stop() is False


def test_two_starts_at_once_make_one_process(make: Make) -> None:
    service = make()
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(service.start(quiet))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False, False, True]


def test_a_taken_port_is_told_and_nothing_starts(make: Make) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        service = make(port=other.getsockname()[1])
        with pytest.raises(PortTaken, match="web needs port .* set WEB_PORT"):
            service.start(quiet)
    assert service.state().status is Status.STOPPED


def test_a_dying_service_shows_its_last_words(make: Make) -> None:
    service = make(command=[sys.executable, "-c", "import sys; print('cannot read conf'); sys.exit(7)"])
    with pytest.raises(ServiceDied, match=r"web ended with exit code 7 while starting(?s:.*)cannot read conf"):
        service.start(quiet)
    assert service.state().status is Status.STOPPED


def test_last_words_of_an_earlier_start_are_left_out(make: Make) -> None:
    service = make(command=[sys.executable, "-c", "import sys; sys.exit(7)"])
    service.log.parent.mkdir(parents=True)
    service.log.write_text("an older failure\n")
    with pytest.raises(ServiceDied) as caught:
        service.start(quiet)
    assert "an older failure" not in str(caught.value)


def test_a_full_disk_is_recognised_in_the_log(make: Make) -> None:
    service = make(command=[sys.executable, "-c", "raise OSError(28, 'No space left on device')"])
    with pytest.raises(StackError, match="the disk of .* is full.*MiB are free"):
        service.start(quiet)


def test_too_little_space_refuses_to_start(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    service = make()
    service.home.mkdir()
    monkeypatch.setattr(module, "MIN_FREE_BYTES", shutil.disk_usage(service.home).free + (1 << 30))
    with pytest.raises(StackError, match="nearly full.*was not started.*FRAZIL_HOME"):
        service.start(quiet)
    assert service.state().status is Status.STOPPED


def test_a_program_that_cannot_be_executed(make: Make) -> None:
    with pytest.raises(ServiceDied, match="web cannot be started: .*absent"):
        make(command=["/absent"]).start(quiet)


def test_a_service_that_does_nothing_is_stopped_again(make: Make) -> None:
    service = make(command=[sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.5)
    with pytest.raises(
        ServiceDied,
        match=r"web did not become ready in \d s: it does not listen on port \d+. For 0 s it has written nothing .*"
        r"stopped again.*FRAZIL_START_TIMEOUT says",
    ):
        service.start(quiet)
    assert service.state().status is Status.STOPPED


@pytest.mark.parametrize("work", ["pass", "print('at it', flush=True); time.sleep(0.05)"], ids=["computes", "logs"])
def test_a_service_may_take_as_long_as_it_works(make: Make, work: str) -> None:
    (port,) = unused(1)
    slow = f"import runpy, sys, time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: {work}\n"
    serve = f"sys.argv[1:] = ['--bind', '{LOOPBACK}', '{port}']; runpy.run_module('http.server', run_name='__main__')"
    told: list[str] = []
    assert make(command=[sys.executable, "-c", slow + serve], port=port, timeout=1).start(told.append) is True
    assert told[0] == "waiting for web"


def test_the_step_tells_what_is_waited_for_and_how_long(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TOLD_S", 1)
    service = make(command=[sys.executable, "-c", "import time; time.sleep(60)"], timeout=3)
    told: list[str] = []
    with pytest.raises(ServiceDied):
        service.start(told.append)
    assert f"waiting for web, for 2 s now: it does not listen on port {service.ports[0].number}" in told


def test_a_service_on_another_port_is_not_ready(make: Make) -> None:
    wanted, other = unused(2)
    service = make(command=[*SERVER, str(other)], port=wanted, timeout=1)
    with pytest.raises(ServiceDied, match=f"it does not listen on port {wanted}"):
        service.start(quiet)


def test_kill_9_is_seen_and_the_next_start_works(make: Make) -> None:
    service = make()
    service.start(quiet)
    pid = service.state().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: service.state().status is Status.DIED)
    assert str(service.log) in service.state().reason
    assert service.start(quiet) is True
    assert service.state().pid != pid


def test_a_frozen_service_is_unready_and_left_alone_by_start(make: Make) -> None:
    service = make()
    service.start(quiet)
    pid = service.state().pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        assert service.state().status is Status.UNREADY
        with pytest.raises(ServiceDied, match="is left alone.*restart web"):
            service.start(quiet, timeout=0.5)
        assert psutil.pid_exists(pid)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_what_is_ready_goes_on_when_a_later_service_fails(make: Make) -> None:
    before, first = make("before"), make("first")
    broken = make("broken", command=[sys.executable, "-c", "raise SystemExit(1)"])
    before.start(quiet)
    seen: list[tuple[str, bool]] = []
    with pytest.raises(ServiceDied, match="broken"):
        start_all([before, first, broken], quiet, lambda service, started, _: seen.append((service.name, started)))
    assert seen == [("before", False), ("first", True)]
    states = [service.state().status for service in (before, first, broken)]
    assert states == [Status.RUNNING, Status.RUNNING, Status.STOPPED]


def test_secrets_of_the_environment_are_not_shown(tmp_path: Path) -> None:
    service = Service("web", tmp_path, lambda _: [], lambda: None, (), env={"SECRET": "hunter2"})
    assert "hunter2" not in repr(service)
