"""A Spark standalone cluster on loopback, of the classes that PySpark ships, in the home of a stack."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import psutil
import pyspark

from frazil.environment.private_file import write_private
from frazil.environment.settings import LOOPBACK, Settings
from frazil.stack.java import find_java, spark_java_home
from frazil.stack.ports import Port, unused
from frazil.stack.process import kill, minimal_env
from frazil.stack.service import Service

_SPARK = Path(pyspark.__file__).parent
_DEFAULTS = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.master.rest.enabled": "false",
    "spark.ui.killEnabled": "false",
    "spark.executor.memory": "512m",
}
"""Only who can read the file may run programs, and the keys of a store that tasks get are encrypted on their way."""


class SparkCluster:
    """A master and workers of one core each; whatever they write is below `<home>/spark`.

    `env` has what programs need that run on the cluster: `SPARK_MASTER`, and the folder of its settings.
    """

    def __init__(self, settings: Settings) -> None:
        self._home = settings.home
        self._folder = settings.home / "spark"
        self._port, self._page = unused(2)
        self.workers: list[Service] = []
        self.env = {"SPARK_MASTER": f"spark://{LOOPBACK}:{self._port}", "SPARK_CONF_DIR": str(self._folder / "conf")}
        local = {
            "JAVA_HOME": str(spark_java_home(settings.home, find_java(settings.env))),
            "SPARK_HOME": str(_SPARK),
            "SPARK_CONF_DIR": self.env["SPARK_CONF_DIR"],
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self._folder / "tmp"),
            "SPARK_DAEMON_MEMORY": "256m",
            "TMPDIR": str(self._folder / "tmp"),
        }
        self._env = {**minimal_env(settings.env), **local}
        self.master = self._service(
            "spark-master",
            (self._port, self._page),
            ["org.apache.spark.deploy.master.Master"],
            lambda: None if self.state().get("status") == "ALIVE" else "it does not take workers yet",
        )

    def prepare(self) -> None:
        """Make the folders, and the settings with a secret of their own, readable by their owner only."""
        for name in ("conf", "tmp", "work"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        defaults = _DEFAULTS | {"spark.authenticate.secret": secrets.token_hex(32)}
        write_private(self._folder / "conf" / "spark-defaults.conf", "".join(f"{k} {v}\n" for k, v in defaults.items()))

    def add_worker(self) -> Service:
        """One worker more; it is ready when the master knows it."""
        port, page = unused(2)
        worker = self._service(
            f"spark-worker-{len(self.workers) + 1}",
            (port, page),
            [
                "org.apache.spark.deploy.worker.Worker",
                *("--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / "work")),
                self.env["SPARK_MASTER"],
            ],
            lambda: None if port in self._alive() else "the master does not know it yet",
        )
        self.workers.append(worker)
        return worker

    def state(self) -> Mapping[str, Any]:
        """What the master tells of itself, empty while it does not answer."""
        try:
            answer = httpx.get(f"http://{LOOPBACK}:{self._page}/json/", timeout=5)
            answer.raise_for_status()
        except httpx.HTTPError:
            return {}
        found: Mapping[str, Any] = answer.json()
        return found

    def _alive(self) -> list[int]:
        return [one["port"] for one in self.state().get("workers", []) if one["state"] == "ALIVE"]

    def cores_used(self) -> int:
        """Cores of all workers that run an executor."""
        return int(self.state().get("coresused", 0))

    def kill_last_worker(self) -> str:
        """SIGKILL to a worker, its executor and their Python processes, as when a machine is gone; its name."""
        worker = self.workers.pop()
        process = worker.process_file.find()
        if process is not None:
            kill([process, *process.children(recursive=True)])
        worker.process_file.forget()
        return worker.name

    def processes(self) -> list[psutil.Process]:
        """Those of the workers that run."""
        found = [worker.process_file.find() for worker in self.workers]
        return [process for process in found if process is not None]

    def stop(self) -> None:
        """Stop workers and master, what has ended before too."""
        for service in (*reversed(self.workers), self.master):
            service.stop()

    def _service(
        self, name: str, ports: tuple[int, int], arguments: list[str], ready: Callable[[], str | None]
    ) -> Service:
        options = ["--host", LOOPBACK, "--port", str(ports[0]), "--webui-port", str(ports[1])]
        return Service(
            name=name,
            home=self._home,
            command=lambda _: [str(_SPARK / "bin" / "spark-class"), arguments[0], *options, *arguments[1:]],
            ready=ready,
            ports=(Port(ports[0], "SPARK_PORT"), Port(ports[1], "SPARK_WEBUI_PORT")),
            env=self._env,
            cwd=self._folder,
        )
