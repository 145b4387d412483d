"""Executors in pods, by the settings and the pod template of `deploy/kubernetes`, before a stand-in for Kubernetes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from frazil.engine.pod import command
from frazil.stack.ports import unused
from tests.isolation import isolated_settings
from tests.kubernetes import Kubernetes
from tests.waits import PATIENCE_S, eventually

COMPONENT = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes" / "components" / "spark-executors"
DRIVER = """
import os, sys, time
from pyspark import TaskContext
from frazil.engine.spark import start, stop
from frazil.environment.settings import Settings

def work(number):
    time.sleep(float(seconds))
    return number, TaskContext.get().attemptNumber(), os.environ["SPARK_EXECUTOR_POD_NAME"]

session = start(Settings.load())
for line in sys.argv[1:] or sys.stdin:
    seconds, tasks = line.split()
    print(sorted(session.sparkContext.parallelize(range(int(tasks)), int(tasks)).map(work).collect()), flush=True)
stop(session)
"""


@contextmanager
def running(env: Mapping[str, str], log: Path) -> Iterator[tuple[IO[str], IO[str]]]:
    """A driver: it takes lines with the seconds of a task and their number, and answers each."""
    command = [sys.executable, "-c", DRIVER]
    pipe = subprocess.PIPE
    with (
        log.open("wb") as told,
        subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=told, text=True) as d,
    ):
        assert d.stdin is not None and d.stdout is not None
        yield d.stdin, d.stdout


def ask(asked: IO[str], *, seconds: float, tasks: int) -> None:
    asked.write(f"{seconds} {tasks}\n")
    asked.flush()


def test_a_driver_tells_in_variables_what_an_executor_needs() -> None:
    told = {
        "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
        "SPARK_EXECUTOR_ID": "3",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_APPLICATION_ID": "spark-1",
        "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "frazil-exec-3",
        "SPARK_EXECUTOR_MEMORY": "1024m",
        **{f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 9, 0)},
    }
    line = command(["executor"], {"PATH": os.environ["PATH"], **told})
    assert line[1:6] == ["-Dn=0", "-Dn=9", "-Dn=10", "-Xms1024m", "-Xmx1024m"]
    backend = line.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    given = line[backend + 1 :]
    assert dict(zip(given[::2], given[1::2], strict=True)) == {
        "--driver-url": told["SPARK_DRIVER_URL"],
        "--executor-id": "3",
        "--cores": "2",
        "--app-id": "spark-1",
        "--hostname": "10.0.0.2",
        "--resourceProfileId": "0",
        "--podName": "frazil-exec-3",
    }


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.faults
def test_tasks_run_in_pods_and_one_that_is_ended_finishes_them(tmp_path: Path) -> None:
    folder = tmp_path / "spark"
    folder.mkdir()
    (folder / "executor.yaml").write_text((COMPONENT / "executor.yaml").read_text())
    defaults = (COMPONENT / "spark-defaults.conf").read_text().replace("/etc/frazil-spark", str(folder))
    for port, free in zip(("7078", "7079"), unused(2), strict=True):
        defaults = defaults.replace(port, str(free))
    (folder / "spark-defaults.conf").write_text(defaults)
    kubernetes = Kubernetes(tmp_path)
    with kubernetes.running() as master:
        settings = isolated_settings(tmp_path / "home", FRAZIL_ENV_FILE=os.devnull, SPARK_MASTER=master)
        pod = {"POD_NAME": "worker-1", "POD_NAMESPACE": "streams", "SPARK_LOCAL_HOSTNAME": "127.0.0.1"}
        env = {**settings.env, **pod, "SPARK_CONF_DIR": str(folder)}
        with running(env, tmp_path / "driver.log") as (asked, answers):
            ask(asked, seconds=0, tasks=4)
            answered = answers.readline()
            assert answered, (tmp_path / "driver.log").read_text()
            first = next(iter(kubernetes.pods))
            assert f"(3, 0, '{first}')" in answered
            ask(asked, seconds=5, tasks=4)
            eventually(lambda: len(kubernetes.pods) > 1)
            kubernetes.end(first)
            answered = answers.readline()
            assert [f"({number}, 0, " in answered for number in range(4)] == [True] * 4, answered
            assert kubernetes.processes[first].wait(PATIENCE_S) == 0, kubernetes.log(first)
    assert "POST /api/v1/namespaces/streams/pods" in kubernetes.asked
    made = kubernetes.pods[first]
    assert made["metadata"]["ownerReferences"][0]["name"] == "worker-1"
    assert made["metadata"]["labels"]["spark-role"] == "executor"
    assert made["spec"]["securityContext"]["runAsNonRoot"] and made["spec"]["automountServiceAccountToken"] is False
    [container] = made["spec"]["containers"]
    assert container["image"] == "frazil:0.1.0"
    assert container["securityContext"]["readOnlyRootFilesystem"]
    written = {mount["mountPath"] for mount in container["volumeMounts"]} - {"/opt/spark/conf"}
    assert written == {"/tmp", str(settings.home / "worker" / "tmp")}  # noqa: S108 - of the container


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.faults
def test_cluster_mode_makes_a_driver_that_attaches_to_its_jvm(tmp_path: Path) -> None:
    """Spark's client makes the pod of the driver; that pod's command then runs here, with executors as above."""
    kubernetes = Kubernetes(tmp_path)
    kubernetes.runs = False
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    with kubernetes.running() as master:
        env = {**os.environ, "PYTHON": sys.executable}
        submit = [str(COMPONENT.parents[1] / "spark-submit.sh"), master]
        done = subprocess.run(submit, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        [pod] = kubernetes.pods.values()
        [container] = pod["spec"]["containers"]
        assert container["image"] == "frazil:0.1.0"
        assert container["args"][0] == "driver" and container["args"][-1] == "worker"
        [settings] = [one["data"] for one in kubernetes.others if "spark.properties" in one.get("data", {})]
        [executor] = [one["data"] for one in kubernetes.others if "podspec-configmap-key" in one.get("data", {})]

        kubernetes.runs = True
        template, properties = tmp_path / "executor.yaml", tmp_path / "spark.properties"
        template.write_text(executor["podspec-configmap-key"])
        placed = re.sub(r"(executor.podTemplateFile)=.*", rf"\1={template}", settings["spark.properties"])
        for port, free in zip(("7078", "7079"), unused(2), strict=True):
            placed = placed.replace(f"={port}", f"={free}")
        placed = re.sub(r"(spark.driver.host)=.*", r"\1=127.0.0.1", placed)
        properties.write_text(f"{placed}\nspark.kubernetes.driver.master={master.removeprefix('k8s://')}\n")
        home = isolated_settings(tmp_path / "home", FRAZIL_ENV_FILE=os.devnull, SPARK_MASTER=master)
        module = container["command"][container["command"].index("-m") :]
        told = ["driver", "--properties-file", str(properties), *container["args"][3:-2], str(script), "0 4"]
        env = {**home.env, "SPARK_DRIVER_BIND_ADDRESS": "127.0.0.1"}
        done = subprocess.run([sys.executable, *module, *told], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        first = next(name for name in kubernetes.processes)
        assert f"(3, 0, '{first}')" in done.stdout
