"""The start script with `--with compose`, before a stand-in for docker that writes down how it was called."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
ONE = f"compose -f {DEPLOY}/compose.yaml"


class Docker:
    """`calls` are the arguments of each call but the question for the version, which `answers` the exit code of."""

    def __init__(self, folder: Path, answers: int = 0) -> None:
        self._folder, self._log = folder, folder / "calls"
        program = folder / "docker"
        program.write_text(f'#!/bin/sh\n[ "$*" = "compose version" ] && exit {answers}\necho "$*" >> "{self._log}"\n')
        program.chmod(0o700)

    @property
    def calls(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    def run(self, *arguments: str, answer: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{self._folder}:{os.environ['PATH']}", **variables}
        command = [str(ROOT / "kafka-connect-iceberg-sink.sh"), "--with", *arguments]
        return subprocess.run(
            command, cwd=self._folder, env=env, input=answer, capture_output=True, text=True, check=False
        )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], [f"{ONE} up --detach --build"]),
        (["start"], [f"{ONE} up --detach --build"]),
        (["start", "trino"], [f"{ONE} up --detach --build trino"]),
        (["stop"], [f"{ONE} stop"]),
        (["restart", "kafka-connect"], [f"{ONE} restart kafka-connect"]),
        (["logs", "-f", "-n", "20"], [f"{ONE} logs -f -n 20"]),
        (["status"], [f"{ONE} ps --all", f"{ONE} run --rm --no-deps kafka-iceberg-init status"]),
        (
            ["produce", "apilogs", "-n", "500"],
            [f"{ONE} run --rm --no-deps kafka-iceberg-init produce apilogs -n 500"],
        ),
        (["clean", "--yes"], [f"{ONE} --profile * down --volumes --remove-orphans"]),
    ],
)
def test_verbs_are_those_of_compose_or_run_in_the_image(
    arguments: list[str], expected: list[str], tmp_path: Path
) -> None:
    docker = Docker(tmp_path)
    done = docker.run("compose", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert docker.calls == expected


@pytest.mark.parametrize(
    ("name", "service"),
    [
        ("compose", "kafka-iceberg-init"),
        ("compose.dual", "kafka-iceberg-init"),
        ("compose.s3", "kafka-s3-verbs"),
    ],
)
def test_each_file_has_the_service_that_other_verbs_run_in(name: str, service: str, tmp_path: Path) -> None:
    docker = Docker(tmp_path)
    assert docker.run(name, "query").returncode == 0
    assert docker.calls == [f"compose -f {DEPLOY}/{name}.yaml run --rm --no-deps {service} query"]
    environment = yaml.safe_load((DEPLOY / f"{name}.yaml").read_text())["services"][service]["environment"]
    assert {"KAFKA_CONNECT_URL", "KAFKA_BOOTSTRAP_SERVERS", "MINIO_ENDPOINT"} <= set(environment)


def test_a_file_of_variables_is_passed_on(tmp_path: Path) -> None:
    docker = Docker(tmp_path)
    (tmp_path / ".env").touch()
    docker.run("compose", "stop")
    docker.run("compose", "stop", FRAZIL_ENV_FILE=str(ROOT / ".env.sample"))
    assert docker.calls == [f"{ONE} --env-file .env stop", f"{ONE} --env-file {ROOT}/.env.sample stop"]


def test_data_is_removed_only_when_that_is_said(tmp_path: Path) -> None:
    docker = Docker(tmp_path)
    for answer in ("n\n", "", "yes?\n"):
        assert docker.run("compose", "clean", answer=answer).stdout == "Nothing was removed.\n"
    assert docker.calls == []
    docker.run("compose", "clean", answer="y\n")
    assert docker.calls == [f"{ONE} --profile * down --volumes --remove-orphans"]


def test_without_compose_it_says_so(tmp_path: Path) -> None:
    docker = Docker(tmp_path, answers=1)
    done = docker.run("compose", "start")
    assert (done.returncode, docker.calls) == (1, [])
    assert done.stderr.startswith("docker compose is not here. Nothing was done.")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    docker = Docker(tmp_path)
    done = docker.run("trino", "start")
    assert (done.returncode, docker.calls) == (2, [])
    assert "there is no deploy/trino.yaml" in done.stderr
