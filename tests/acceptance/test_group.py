"""Three workers of one group, with Spark: killed and put to sleep while records flow, and nothing lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from frazil.environment.settings import Settings
from frazil.stack.local import LocalStack
from frazil.stack.ports import unused
from tests.acceptance.test_lifecycle import steady
from tests.harness import Pipe, event
from tests.light_worker import properties, write
from tests.waits import PATIENCE_S, eventually

pytestmark = pytest.mark.spark


class Process:
    """`frazil worker worker.properties` with its whole family."""

    def __init__(self, settings: Settings, group: str, home: Path) -> None:
        port, actuator = unused(2)
        self.url = f"http://127.0.0.1:{port}"
        self.worker_id = f"127.0.0.1:{port}"
        self._home = home
        self._file = write(home / "worker.properties", properties(settings.bootstrap_servers, group, port))
        self._env = {
            **settings.env,
            "FRAZIL_HOME": str(home),
            "ACTUATOR_PORT": str(actuator),
            "SPARK_MASTER": "local[1]",
            "MINIO_ENDPOINT": settings.s3_endpoint,
            "ICEBERG_CATALOG_URI": settings.catalog_uri,
        }
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "frazil.cli.main", "worker", str(self._file)]
        with (self._home / "worker.log").open("ab") as log:
            self.process = psutil.Popen(command, env=self._env, stdout=log, stderr=subprocess.STDOUT)
        try:
            eventually(self._ready)
        except BaseException:
            self.end(signal.SIGKILL)
            raise

    def _ready(self) -> bool:
        assert self.process.poll() is None, (self._home / "worker.log").read_text()[-3000:]
        try:
            return httpx.get(f"{self.url}/health", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def family(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]

    def signal(self, number: int) -> None:
        for member in self.family():
            os.kill(member.pid, number)

    def end(self, number: int) -> None:
        family = self.family()
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)
        _, alive = psutil.wait_procs(family, timeout=PATIENCE_S)
        assert not alive, f"processes outlived their worker: {alive}"

    def states(self) -> dict[str, tuple[str, str]]:
        found = httpx.get(f"{self.url}/connectors?expand=status", timeout=PATIENCE_S, trust_env=False).json()
        connectors = {name: entry["status"]["connector"] for name, entry in found.items()}
        return {name: (connector["state"], connector["worker_id"]) for name, connector in connectors.items()}


@contextmanager
def group(settings: Settings, folder: Path, size: int) -> Iterator[list[Process]]:
    name = f"group-{uuid.uuid4().hex[:8]}"
    with ExitStack() as stack:
        members = []
        for number in range(size):
            member = Process(settings, name, folder / str(number))
            stack.callback(lambda member=member: member.process.is_running() and member.end(signal.SIGTERM))  # type: ignore[misc]
            members.append(member)
        yield members


def deploy(member: Process, pipes: list[Pipe]) -> None:
    for pipe in pipes:
        url = f"{member.url}/connectors/{pipe.connector}/config"
        answer = httpx.put(url, json=pipe.config(tasks__max="1"), timeout=PATIENCE_S, trust_env=False)
        assert answer.status_code == 201, answer.text


def all_run_on(asked: Process, workers: set[str]) -> bool:
    found = asked.states().values()
    return {state for state, _ in found} == {"RUNNING"} and {worker for _, worker in found} <= workers


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_killed_ended_and_sleeping_workers_lose_and_double_nothing(stack: LocalStack, tmp_path: Path) -> None:
    pipes = [Pipe(stack.settings, f"grouped_{number}").create() for number in range(4)]
    rng = random.Random(5)
    with group(stack.settings, tmp_path, 3) as members, ExitStack() as flows:
        first = members[0]
        deploy(first, pipes)
        everyone = {member.worker_id for member in members}
        eventually(lambda: all_run_on(first, everyone))
        sent = [flows.enter_context(steady(pipe, pause=0.2)) for pipe in pipes]
        eventually(lambda: all(len(pipe.ids()) > 100 for pipe in pipes))
        for round_ in range(6):
            victim, asked = members[1 + round_ % 2], members[0]
            others = everyone - {victim.worker_id}
            time.sleep(rng.uniform(0, 3))
            begun = time.monotonic()
            if round_ % 3:
                victim.end((signal.SIGKILL, signal.SIGTERM)[round_ % 3 - 1])
            else:
                victim.signal(signal.SIGSTOP)
            eventually(lambda: all_run_on(asked, others))  # noqa: B023
            print(f"round {round_}: moved in {time.monotonic() - begun:.1f} s")
            if round_ % 3:
                victim.start()
            else:
                time.sleep(3)
                victim.signal(signal.SIGCONT)
            eventually(lambda: victim.states() == asked.states() and all_run_on(asked, everyone))  # noqa: B023
        flows.close()
        for pipe, numbers in zip(pipes, sent, strict=True):
            eventually(lambda pipe=pipe: pipe.lag() == 0)  # type: ignore[misc]
            assert pipe.ids() == numbers


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_thirty_connectors_on_one_worker(stack: LocalStack, tmp_path: Path) -> None:
    """Each of them stores what it gets. How fast they are is measured by `python -m bench --only worker`."""
    pipes = [Pipe(stack.settings, f"many_{number}").create(partitions=1) for number in range(30)]
    with group(stack.settings, tmp_path, 1) as (member,):
        deploy(member, pipes)
        eventually(lambda: all_run_on(member, {member.worker_id}))
        for pipe in pipes:
            pipe.send([event(number) for number in range(100)])
        for pipe in pipes:
            eventually(lambda pipe=pipe: len(pipe.ids()) == 100)  # type: ignore[misc]
