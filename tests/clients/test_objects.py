"""Properties of objects, and errors of the store; the store itself is in the tests with services."""

from __future__ import annotations

import pickle

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from frazil.clients import objects
from frazil.clients.objects import ObjectStore
from frazil.config.object_store import ObjectStoreConfig
from frazil.errors import ConfigError, ServiceUnavailable

CONFIG = ObjectStoreConfig("b", "r", "http://127.0.0.1:1", access_key="AK", secret_key="topsecret")


def test_a_store_can_be_sent_to_tasks() -> None:
    assert pickle.loads(pickle.dumps(ObjectStore(CONFIG))) == ObjectStore(CONFIG)  # noqa: S301 - made here
    assert "topsecret" not in repr(ObjectStore(CONFIG))


@pytest.mark.parametrize(
    ("config", "options"),
    [
        (CONFIG, {"Tagging": "a+b=%C3%A4%26"}),
        (ObjectStoreConfig("b", "r", acl="private"), {"Tagging": "a+b=%C3%A4%26", "ACL": "private"}),
        (
            ObjectStoreConfig("b", "r", encryption="aws:kms", kms_key="k"),
            {"Tagging": "a+b=%C3%A4%26", "ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "k"},
        ),
        (
            ObjectStoreConfig("b", "r", encryption_key="a2V5"),
            {"Tagging": "a+b=%C3%A4%26", "SSECustomerAlgorithm": "AES256", "SSECustomerKey": b"key"},
        ),
    ],
)
def test_options(config: ObjectStoreConfig, options: dict[str, object]) -> None:
    assert objects.put_options(config, (("a b", "ä&"),)) == options


def test_a_key_that_is_not_base64_is_not_shown() -> None:
    with pytest.raises(ConfigError, match="^s3.sse.customer.key is not Base64") as raised:
        objects.put_options(ObjectStoreConfig("b", "r", encryption_key="topsecret!"), ())
    assert "topsecret" not in str(raised.value)


def answer(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "m"}}, "PutObject")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (answer("AccessDenied"), ConfigError),
        (answer("NoSuchBucket"), ConfigError),
        (NoCredentialsError(), ConfigError),
        (answer("SlowDown"), ServiceUnavailable),
        (answer("InternalError"), ServiceUnavailable),
        (answer("ExpiredToken"), ServiceUnavailable),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), ServiceUnavailable),
    ],
)
def test_errors(error: Exception, kind: type[Exception]) -> None:
    found = objects.translated(error, CONFIG, "topics/x")
    assert type(found) is kind
    assert "object topics/x of bucket b" in str(found)
    assert "topsecret" not in str(found)
