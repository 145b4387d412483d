"""The configurations of nginx before a real object store: signatures, large objects, nodes that are away."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config

from frazil.stack.local import LocalStack
from frazil.stack.nginx import whole
from frazil.stack.ports import unused
from scripts import nginx_conf
from tests.programs import program
from tests.waits import PATIENCE_S, eventually

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "nginx"
PART = 8 << 20


def configured(folder: Path, role: str, nodes: list[int]) -> tuple[Path, int]:
    """The file of a whole configuration for nodes on this machine, and the port of S3."""
    text = (FOLDER / f"{role}.conf").read_text()
    s3, console = unused(2)
    for number, port in enumerate(nodes, 1):
        text = re.sub(rf"minio-{role}{number}:900[01]", f"127.0.0.1:{port}", text)
    text = text.replace("listen 9000", f"listen 127.0.0.1:{s3}").replace("listen 9001", f"listen 127.0.0.1:{console}")
    file = folder / f"{role}.conf"
    file.write_text(whole(folder, text))
    return file, s3


@contextmanager
def nginx(folder: Path, role: str, nodes: list[int]) -> Iterator[int]:
    """Runs before the nodes; gives its port of S3."""
    file, port = configured(folder, role, nodes)
    with (folder / "error.log").open("wb") as log:
        process = subprocess.Popen([program("nginx", "nginx"), "-c", file, "-e", "stderr"], stderr=log)

    def listens() -> bool:
        assert process.poll() is None, (folder / "error.log").read_text()
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    try:
        eventually(listens)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def test_configurations_are_those_of_the_embedded_stores() -> None:
    for path, text in nginx_conf.texts().items():
        assert path.read_text() == text, "run `make docs`"


@pytest.mark.parametrize("role", ["source", "dest"])
def test_configurations_are_well_formed(role: str, tmp_path: Path) -> None:
    file, _ = configured(tmp_path, role, unused(4))
    command = [program("nginx", "nginx"), "-t", "-c", str(file), "-e", "stderr"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr


@pytest.mark.stack
@pytest.mark.parametrize("role", ["source", "dest"])
def test_objects_pass_unchanged_while_nodes_are_away(role: str, stack: LocalStack, tmp_path: Path) -> None:
    settings = stack.settings
    living = urlsplit(settings.s3_endpoint).port
    assert living is not None
    away = unused(3)
    with nginx(tmp_path, role, [away[0], living, *away[1:]]) as port:
        store: Any = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name=settings.region,
            aws_access_key_id=settings.access_key,
            aws_secret_access_key=settings.secret_key,
            config=Config(retries={"total_max_attempts": 1}, signature_version="s3v4"),
        )
        bucket = f"behind-nginx-{role}"
        store.create_bucket(Bucket=bucket)
        small = {f"day=1/a b+c%2F=é~{n}.json": b"%d" % n for n in range(12)}
        for key, body in small.items():
            store.put_object(Bucket=bucket, Key=key, Body=body)
        assert {key: store.get_object(Bucket=bucket, Key=key)["Body"].read() for key in small} == small
        large = sha256(b"0").digest() * (3 * PART // 32)
        store.put_object(Bucket=bucket, Key="whole", Body=large)
        store.upload_fileobj(BytesIO(large), bucket, "parts")
        for key in ("whole", "parts"):
            assert store.get_object(Bucket=bucket, Key=key)["Body"].read() == large
        assert store.get_object(Bucket=bucket, Key="whole", Range="bytes=5-9")["Body"].read() == large[5:10]
        presigned = store.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "whole"})
        assert f":{port}/" in presigned
    assert any(f"127.0.0.1:{port}" in (tmp_path / "error.log").read_text() for port in away), "no node was away"
