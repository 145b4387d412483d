from __future__ import annotations

import pytest
from pyarrow.fs import S3FileSystem

from frazil.clients.store import refuses
from frazil.stack.local import LocalStack


def s3(stack: LocalStack, **changes: str) -> S3FileSystem:
    settings = stack.settings
    options = {
        "endpoint_override": settings.s3_endpoint,
        "access_key": settings.access_key,
        "secret_key": settings.secret_key,
        "region": "us-east-1",
        "scheme": "http",
    }
    return S3FileSystem(**(options | changes), connect_timeout=2, request_timeout=2)


def put(filesystem: S3FileSystem, path: str) -> OSError:
    with pytest.raises(OSError) as caught, filesystem.open_output_stream(path) as stream:
        stream.write(b"x")
    return caught.value


@pytest.mark.stack
@pytest.mark.parametrize("changes", [{"secret_key": "wrong"}, {"access_key": "nobody"}])
def test_access_keys_that_are_wrong(stack: LocalStack, changes: dict[str, str]) -> None:
    bucket = stack.settings.warehouse
    assert refuses(put(s3(stack, **changes), f"{bucket}/some/object"))


def test_a_bucket_that_does_not_exist() -> None:
    assert refuses(OSError("When completing upload: AWS Error NO_SUCH_BUCKET during PutObject operation: The bucket"))


def test_a_store_that_is_away() -> None:
    away = S3FileSystem(
        endpoint_override="127.0.0.1:1",
        access_key="a",
        secret_key="b",
        scheme="http",
        connect_timeout=1,
    )
    assert not refuses(put(away, "bucket/object"))
    assert not refuses(OSError(28, "No space left on device"))
