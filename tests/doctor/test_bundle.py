from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from frazil.declare.providers import ConfigProviders
from frazil.doctor.bundle import write_bundle
from frazil.doctor.finding import Finding, Look
from frazil.environment.settings import Settings
from tests.isolation import isolated_settings


def read(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        return {
            member.name.removeprefix("frazil-support/"): (archive.extractfile(member) or path.open("rb"))
            .read()
            .decode()
            for member in archive
        }


def test_no_secret_is_in_it_wherever_it_stood(tmp_path: Path) -> None:
    base = isolated_settings(tmp_path / "home")
    env = {**base.env, "KAFKA_CONNECT_PASSWORD": "worker-pass", "MINIO_ROOT_PASSWORD": "root-pass", "OTHER": "mine"}
    settings = Settings(env)
    settings.logs.mkdir(parents=True)
    (settings.logs / "worker.log").write_text(
        'INFO started\nERROR login with hush-4711 failed\nGET /x?X-Amz-Signature=abcdef&a=b\n{"token": "t0ken"}\n'
    )
    config = {"name": "c", "aws.secret.access.key": "hush-4711", "topics": "t"}
    connectors: dict[str, Any] = {"c": {"info": {"config": config}, "status": {"connector": {"state": "RUNNING"}}}}
    look = Look(settings, ConfigProviders(), connectors=connectors)
    path = tmp_path / "bundle.tar.gz"
    names = write_bundle(look, [Finding("kafka", "problem", "the password worker-pass is wrong")], path)
    assert path.stat().st_mode & 0o777 == 0o600
    found = read(path)
    assert (
        list(found) == names == ["doctor.json", "connectors.json", "settings.json", "packages.txt", "logs/worker.log"]
    )
    whole = "\n".join(found.values())
    for secret in ("hush-4711", "worker-pass", "root-pass", "abcdef", "t0ken", "mine"):
        assert secret not in whole, secret
    assert json.loads(found["connectors.json"])["c"]["info"]["config"]["topics"] == "t"
    assert "INFO started" in found["logs/worker.log"]
    assert "frazil==" in found["packages.txt"]
