from __future__ import annotations

import pytest

from frazil.environment.urls import check_url, is_this_machine
from frazil.errors import ConfigError


@pytest.mark.parametrize(
    "text",
    [
        "http://minio:9000",
        "HTTPS://s3.example",
        "http://[::1]:9000/path",
        "http://minio_1",
        "http://h:1/?q",
        "http://é",
    ],
)
def test_urls(text: str) -> None:
    check_url("X", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minio:9000", "X=minio:9000: expected a URL that starts with http:// or https://"),
        ("ftp://minio", "expected a URL that starts with http"),
        ("http://", "expected a host"),
        ("http://:9000", "expected a host"),
        ("http://minio:0", "a port between 1 and 65535"),
        ("http://a b", "expected a host"),
        ("http://minio/\x1b[31m", "expected a host"),
        ("http://minio:99999", "X: its value is not a URL"),
        ("http://minio:port", "X: its value is not a URL"),
        ("http://[::1", "X: its value is not a URL"),
        ("http://..", "X: its value is not a URL"),
        (f"http://{'a' * 64}.example", "X: its value is not a URL"),
    ],
)
def test_what_cannot_be_called(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_url("X", text)
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ["http://user:secret@minio", "http://secret@minio", "http://user:secret/x@minio"])
def test_credentials_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(ConfigError, match="^X") as refused:
        check_url("X", text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
def test_this_machine(host: str) -> None:
    assert is_this_machine(host)


@pytest.mark.parametrize(
    "host", ["", "127.example.org", "127.0.0.1.example.org", "localhost.example.org", "10.0.0.1", "fe80::1", "::"]
)
def test_elsewhere(host: str) -> None:
    assert not is_this_machine(host)
