"""The compose files, as a tool of compose reads them: what they name exists, and their variables are those that the
program documents."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from frazil.environment.variables import VARIABLES

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
FILES = ("compose.yaml", "compose.dual.yaml", "compose.s3.yaml")
OF_COMPOSE = {"FRAZIL_IMAGE", "CONNECT_GROUP_ID"}
OF_POSTGRES = {"AWS_RDS_DBNAME", "AWS_RDS_USER", "AWS_RDS_PASSWORD", "AWS_RDS_PORT"}


@pytest.fixture(scope="module", params=FILES)
def file(request: pytest.FixtureRequest) -> Path:
    return DEPLOY / str(request.param)


@pytest.fixture(scope="module")
def project(file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return read(file, tmp_path_factory.mktemp("podman"), profiles(file))


def profiles(file: Path) -> set[str]:
    services = yaml.safe_load(file.read_text())["services"].values()
    return {profile for service in services for profile in service.get("profiles", [])}


def read(file: Path, folder: Path, chosen: Iterable[str] = (), **variables: str) -> dict[str, Any]:
    """A file with the services of profiles and its variables in place, as podman-compose reads it."""
    podman = folder / "podman"  # only asked for its version here
    podman.write_text("#!/bin/sh\necho podman version 5.0.0\n")
    podman.chmod(0o700)
    tool = [sys.executable, "-m", "podman_compose", "--podman-path", str(podman), "-f", str(file)]
    tool += [word for profile in chosen for word in ("--profile", profile)]
    done = subprocess.run([*tool, "config"], capture_output=True, text=True, check=False, env=variables)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = yaml.safe_load(done.stdout)
    return found


def test_services_networks_and_volumes_that_are_named_exist(project: dict[str, Any]) -> None:
    services = project["services"]
    for name, service in services.items():
        assert set(service["networks"]) <= set(project["networks"]), name
        for other, condition in service.get("depends_on", {}).items():
            assert other in services, f"{name} waits for {other}, which is none"
            # what init and the two of a profile wait for has a check in its image
            checked = "healthcheck" in services[other] or "build" in services[other]
            assert checked or condition["condition"] != "service_healthy", f"{name}: {other} has no health check"
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            exists = (DEPLOY / source).exists() if source.startswith(".") else source in project["volumes"]
            assert exists, f"{name}: {volume}"
    used = {v.partition(":")[0] for service in services.values() for v in service.get("volumes", [])}
    assert set(project["volumes"]) <= used


def test_ports_are_for_this_machine_only_and_given_once(project: dict[str, Any]) -> None:
    ports = [port for service in project["services"].values() for port in service.get("ports", [])]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    outside = [port.split(":")[1] for port in ports]
    assert len(set(outside)) == len(outside), outside


def test_variables_are_documented(file: Path) -> None:
    named = set(re.findall(r"(?<!\$)\$\{(\w+)", file.read_text()))
    assert named <= set(VARIABLES) | OF_COMPOSE | OF_POSTGRES


def test_variables_of_the_worker_are_known_to_it(project: dict[str, Any]) -> None:
    known = set(VARIABLES)
    workers = [service["environment"] for service in project["services"].values() if "build" in service]
    assert workers
    for environment in workers:
        assert [name for name in environment if name not in known and not name.startswith("CONNECT_")] == []


def test_workers_run_without_rights(project: dict[str, Any]) -> None:
    workers = [service for service in project["services"].values() if "build" in service]
    assert workers
    for worker in workers:
        assert worker["read_only"] and worker["cap_drop"] == ["ALL"] and worker["tmpfs"] == ["/tmp"]  # noqa: S108


def test_profiles_add_services(tmp_path: Path) -> None:
    file = DEPLOY / "compose.yaml"
    alone = set(read(file, tmp_path)["services"])
    assert alone == {"kafka", "minio", "kafka-connect", "kafka-iceberg-init"}
    assert set(read(file, tmp_path, ["monitoring"])["services"]) - alone == {"prometheus", "grafana"}


def test_variables_take_effect_wherever_they_stand(tmp_path: Path) -> None:
    chosen = {"KAFKA_EXTERNAL_PORT": "19092", "MINIO_ROOT_USER": "me", "API_LOGS_TOPIC": "a"}
    services = read(DEPLOY / "compose.yaml", tmp_path, **chosen)["services"]
    assert services["kafka"]["ports"] == ["127.0.0.1:19092:9092"]
    assert services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].endswith("EXTERNAL://localhost:19092")
    assert services["minio"]["environment"]["MINIO_ROOT_USER"] == "me"
    for worker in ("kafka-connect", "kafka-iceberg-init"):
        environment = services[worker]["environment"]
        assert (environment["MINIO_ACCESS_KEY"], environment["API_LOGS_TOPIC"]) == ("me", "a")
    assert services["minio"]["environment"]["MINIO_LOG_API_KAFKA_TOPIC"] == "a"


def test_two_clusters_have_fourteen_containers_and_each_node_is_behind_its_nginx() -> None:
    services = yaml.safe_load((DEPLOY / "compose.dual.yaml").read_text())["services"]
    assert len(services) == 14
    for role in ("source", "dest"):
        nodes = {f"minio-{role}{number}" for number in range(1, 5)}
        assert nodes <= set(services)
        behind = set(re.findall(r"server ([\w-]+):9000", (DEPLOY / "nginx" / f"{role}.conf").read_text()))
        assert behind == nodes
    logs = services["minio-source1"]["environment"]
    for kind in ("API", "ERROR", "AUDIT"):
        assert logs[f"MINIO_LOG_{kind}_KAFKA_BROKERS"] == "kafka:29092"
    assert not any("KAFKA" in name for name in services["minio-dest1"]["environment"])


def test_the_services_of_the_sink_of_objects_have_its_names_and_its_topics_are_there(tmp_path: Path) -> None:
    file = DEPLOY / "compose.s3.yaml"
    alone = read(file, tmp_path)["services"]
    assert set(alone) == {"redpanda", "minio", "minio-setup", "kafka-s3-connector"}
    assert set(read(file, tmp_path, ["scaling"])["services"]) - set(alone) == {"kafka-s3-connector-2"}
    worker = alone["kafka-s3-connector"]
    (folder, inside, _), *_ = [volume.split(":") for volume in worker["volumes"] if volume.startswith("..")]
    topics = Path(worker["environment"]["FRAZIL_TOPICS_FILE"]).relative_to(inside)
    assert (DEPLOY / folder / topics).is_file()
