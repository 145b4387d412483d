"""The image, built and run as the user that it names: broker, store and worker, and the demo's table."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

import pytest

from frazil.stack.ports import unused
from tests.isolation import isolated_settings

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "frazil:0.1.0"
MOST_BYTES = 1_000_000_000

pytestmark = [
    pytest.mark.spark,
    pytest.mark.faults,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(os.getuid() != 0, reason="takes root, to make the base image and to build without an engine"),
]


def run(*command: str, at_most_s: int = 900) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=at_most_s)
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def buildah() -> Iterator[list[str]]:
    """The command whose storage has the image."""
    folder = tempfile.mkdtemp(prefix="frazil-image-")
    try:
        storage = run(str(ROOT / "scripts" / "image.sh"), folder, at_most_s=2000).split()
        yield ["buildah", *storage]
    finally:
        rmtree(folder)


@contextmanager
def container(buildah: list[str]) -> Iterator[str]:
    name = run(*buildah, "from", "--pull=never", IMAGE).strip()
    try:
        yield name
    finally:
        run(*buildah, "rm", name)


def test_what_it_is(buildah: list[str]) -> None:
    found = json.loads(run(*buildah, "inspect", "--type", "image", IMAGE))
    config = found["Docker"]["config"]
    assert config["User"] == "10001:10001"
    assert config["Entrypoint"] == ["tini", "--", "frazil"]
    assert set(config["Volumes"]) == {"/var/lib/frazil", "/tmp"}  # noqa: S108 - of the container
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_another_build_of_the_same_commit_has_the_same_layers(buildah: list[str]) -> None:
    folder = Path(buildah[buildah.index("--root") + 1]).parent
    run(str(ROOT / "scripts" / "image.sh"), str(folder), "frazil:again", at_most_s=2000)
    layers = [
        json.loads(run(*buildah, "inspect", "--type", "image", name))["OCIv1"]["rootfs"]["diff_ids"]
        for name in (IMAGE, "frazil:again")
    ]
    assert layers[0] == layers[1]


def test_it_says_what_it_is_made_of(buildah: list[str]) -> None:
    with container(buildah) as name:
        told = run(*buildah, "run", "--isolation", "chroot", name, "--", "cat", "/opt/frazil/frazil.spdx.json")
    packages = {package["name"] for package in json.loads(told)["packages"]}
    assert {"frazil", "pyspark", "deltalake", "org.apache.kafka:kafka-clients"} <= packages
    assert not {"spdx-tools", "pytest", "trino"} & packages


def test_a_registry_holds_less_than_a_gigabyte_of_it(buildah: list[str], tmp_path: Path) -> None:
    run(*buildah, "push", "--quiet", IMAGE, f"oci:{tmp_path}/image")
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert size < MOST_BYTES


def test_broker_store_and_worker_run_in_it_without_rights(buildah: list[str], tmp_path: Path) -> None:
    settings = isolated_settings(tmp_path, FRAZIL_ENV_FILE=os.devnull)
    own = {"FRAZIL_HOME": "/var/lib/frazil", "CONNECT_LISTENERS": f"http://127.0.0.1:{settings.connect_port}"}
    ports = {name: value for name, value in settings.env.items() if name.endswith("_PORT")}
    count = "frazil sql --format csv 'SELECT count(*) AS n FROM apilogs'"
    script = f"trap 'frazil stop' EXIT; id -u; frazil demo; {count}"
    with container(buildah) as name:
        environment = [f"--env={key}={value}" for key, value in {**ports, **own}.items()]
        shown = run(*buildah, "run", "--isolation", "chroot", *environment, name, "--", "sh", "-ec", script)
    assert shown.startswith("10001\n")
    assert "14 created" in shown
    assert "n\n1000\n" in shown


def test_the_worker_is_what_runs_without_arguments(buildah: list[str]) -> None:
    (port,) = unused(1)
    with container(buildah) as name:
        arguments = ["--env", f"KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:{port}", name, "--", "tini", "--", "frazil", "worker"]
        done = subprocess.run(
            [*buildah, "run", "--isolation", "chroot", *arguments], capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr
