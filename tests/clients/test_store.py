from __future__ import annotations

from io import BytesIO

import pytest
from pyarrow.fs import S3FileSystem

from frazil.clients.object_store import ObjectStoreConfig
from frazil.clients.objects import Found, ObjectStore
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


@pytest.mark.stack
def test_the_store_keeps_conditions_of_puts(stack: LocalStack) -> None:
    settings = stack.settings
    store = ObjectStore(
        ObjectStoreConfig(
            "conditions",
            settings.region,
            settings.s3_endpoint,
            access_key=settings.access_key,
            secret_key=settings.secret_key,
        )
    )
    store.create()
    store.put("k", BytesIO(b"1"), 1, ())
    found = store.look("k")
    assert found is not None
    assert store.keeps_conditions("k", b"1")
    etag = store.put_over("k", b"2", found.etag)
    assert etag is not None
    assert store.put_over("k", b"3", found.etag) is None
    assert store.look("k") == Found(b"2", etag)
    assert store.put_over("none", b"3", etag) is None


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
