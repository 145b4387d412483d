"""The warehouse call of AIStor against a server that checks the signature as AIStor would."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from frazil.environment.settings import Settings
from frazil.errors import ConfigError, ServiceUnavailable, TerminalError
from frazil.minio.deployment.deploy import create_warehouse, has_warehouse_api
from tests.web import Handler, served

Seen = list[dict[str, object]]


def signature_is_valid(headers: dict[str, str], path: str, body: bytes) -> bool:
    """Sign the received request again, with the time it names, and compare."""
    signed = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    request = AWSRequest(
        "POST", f"http://{headers['host']}{path}", headers={name: headers[name] for name in signed}, data=body
    )
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials("key", "secret"), "s3tables", "us-east-1")
    canonical = signer.canonical_request(request)
    expected = signer.signature(signer.string_to_sign(request, canonical), request)
    return headers["authorization"].endswith(f"Signature={expected}")


@contextmanager
def aistor(answers: list[tuple[int, bytes]]) -> Iterator[tuple[str, Seen]]:
    seen: Seen = []

    class Warehouses(Handler):
        def do_POST(self) -> None:
            body = self.body()
            headers = {name.lower(): value for name, value in self.headers.items()}
            hashed = headers.get("x-amz-content-sha256") == hashlib.sha256(body).hexdigest()
            valid = hashed and signature_is_valid(headers, self.path, body)
            seen.append({"path": self.path, "body": json.loads(body), "valid": valid})
            self.answer(*(answers[len(seen) - 1] if valid else (403, b"signature mismatch")))

    with served(Warehouses) as url:
        yield url, seen


def settings(endpoint: str, secret: str = "secret") -> Settings:  # noqa: S107
    return Settings({"MINIO_ENDPOINT": endpoint, "MINIO_ACCESS_KEY": "key", "MINIO_SECRET_KEY": secret})


def test_which_catalogs_have_warehouses() -> None:
    assert has_warehouse_api(settings("http://minio:9000/"))
    assert not has_warehouse_api(Settings({}))


@pytest.mark.parametrize(("status", "created"), [(200, True), (409, False)])
def test_created_or_there_already(status: int, created: bool) -> None:
    with aistor([(status, b"{}")]) as (url, seen):
        assert create_warehouse(settings(url)) is created
    body = {"name": "kafkawarehouse", "upgrade-existing": False}
    assert seen == [{"path": "/_iceberg/v1/warehouses", "body": body, "valid": True}]


def test_a_server_error_is_tried_again() -> None:
    with aistor([(500, b"locked"), (503, b"busy"), (200, b"{}")]) as (url, seen):
        assert create_warehouse(settings(url)) is True
    assert len(seen) == 3


def test_a_lasting_server_error() -> None:
    with aistor([(500, b"locked")] * 4) as (url, seen), pytest.raises(ServiceUnavailable, match="500 locked"):
        create_warehouse(settings(url))
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [(400, ConfigError, "WAREHOUSE_NAME"), (403, ConfigError, "MINIO_ACCESS_KEY"), (418, TerminalError, "418 no")],
)
def test_refusals(status: int, error: type[Exception], text: str) -> None:
    with aistor([(status, b"no")]) as (url, _), pytest.raises(error, match=text):
        create_warehouse(settings(url))


def test_wrong_secret() -> None:
    with aistor([]) as (url, _), pytest.raises(ConfigError, match="signature mismatch") as error:
        create_warehouse(settings(url, "not-the-secret"))
    assert "not-the-secret" not in str(error.value)


def test_no_server() -> None:
    with pytest.raises(ServiceUnavailable, match="MINIO_ENDPOINT"):
        create_warehouse(settings("http://127.0.0.1:1"))
