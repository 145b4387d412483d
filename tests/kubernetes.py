"""A stand-in for Kubernetes' API that runs the first container of each pod as a process of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.waits import PATIENCE_S
from tests.web import Handler, served

FIELDS = {"status.podIP": "127.0.0.1", "metadata.name": ""}


class Kubernetes:
    """`pods` are the pods by name, as they were made; `processes` those of their containers, unless `runs` is false;
    `others` what else was made."""

    def __init__(self, folder: Path) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.others: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.runs = True
        self._folder = folder

    @contextmanager
    def running(self) -> Iterator[str]:
        """Gives the address for SPARK_MASTER."""
        with served(self._handler()) as url:
            try:
                yield f"k8s://{url}"
            finally:
                for process in self.processes.values():
                    process.kill()
                    process.wait(PATIENCE_S)

    def end(self, name: str) -> None:
        """What a drain does to a pod first."""
        self.processes[name].send_signal(signal.SIGTERM)

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def create(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        pod["metadata"] |= {"uid": name, "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
        self.pods[name] = pod
        if self.runs:
            self._run(name, pod["spec"]["containers"][0])

    def _run(self, name: str, container: dict[str, Any]) -> None:
        env = {"PATH": os.environ["PATH"]}
        for variable in container["env"]:
            field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            env[variable["name"]] = variable.get("value", "") if field is None else FIELDS[field] or name
        module = container["command"][container["command"].index("-m") :]
        with (self._folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *module, *container["args"]], env=env, cwd=self._folder, stdout=log, stderr=log
            )

    def described(self, name: str) -> dict[str, Any]:
        code = self.processes[name].poll()
        state = {"running": {}} if code is None else {"terminated": {"exitCode": code}}
        phase = "Running" if code is None else "Succeeded" if code == 0 else "Failed"
        statuses = [{"name": "executor", "state": state, "ready": code is None, "restartCount": 0}]
        return self.pods[name] | {"status": {"phase": phase, "podIP": "127.0.0.1", "containerStatuses": statuses}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        world = self

        class Api(Handler):
            protocol_version = "HTTP/1.1"

            def tell(self, code: int, body: object) -> None:
                self.answer(code, json.dumps(body).encode())

            def do_POST(self) -> None:
                made = json.loads(self.body())
                world.asked.append(f"POST {self.path}")
                if made["kind"] == "Pod":
                    world.create(made)
                else:
                    world.others.append(made)
                self.tell(201, made)

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                world.asked.append(f"GET {url.path}")
                if "watch" in parse_qs(url.query):
                    self.tell(200, {})
                elif url.path.endswith("/pods"):
                    items = [world.described(name) for name in list(world.pods)]
                    metadata = {"resourceVersion": "1"}
                    self.tell(200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items})
                else:
                    name = url.path.rpartition("/")[2]
                    metadata = {"name": name, "uid": "of-the-driver", "namespace": "streams"}
                    self.tell(200, {"kind": "Pod", "apiVersion": "v1", "metadata": metadata})

            def do_DELETE(self) -> None:
                self.body()
                world.asked.append(f"DELETE {urlsplit(self.path).path}")
                self.tell(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

            def do_PATCH(self) -> None:
                made = yaml.safe_load(self.body())
                world.asked.append(f"PATCH {urlsplit(self.path).path}")
                world.others.append(made)
                self.tell(200, made)

        return Api
