"""Properties of objects, and errors of the store; the store itself is in the tests with services."""

from __future__ import annotations

import base64
import io
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from frazil.clients import objects
from frazil.clients.object_store import ObjectStoreConfig
from frazil.clients.objects import ObjectStore
from frazil.errors import ConfigError, ServiceUnavailable, StoreUnavailable
from tests.web import Handler, running, server_of, url_of

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


@pytest.mark.parametrize(
    ("endpoint", "proxy", "safe"),
    [
        (None, "", True),
        ("https://minio.example", "", True),
        ("https://minio.example", "http://proxy.example", True),
        ("http://127.0.0.1:9000", "", True),
        ("http://[::1]:9000", "", True),
        ("http://127.0.0.1:9000", "http://proxy.example", False),
        ("http://minio.example:9000", "", False),
        ("http://127.0.0.1.example:9000", "", False),
    ],
)
def test_bodies_are_signed_where_somebody_could_change_them(endpoint: str | None, proxy: str, safe: bool) -> None:
    assert objects.has_safe_way(replace(CONFIG, endpoint=endpoint, proxy=proxy)) is safe


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("t/partition=0/t+0+0000000000.json", "application/x-ndjson"),
        ("t+0+0000000000.json.gz", "application/gzip"),
        ("t+0+0000000000.zstd.parquet", "application/vnd.apache.parquet"),
        ("t+0+0000000000.avro", "application/octet-stream"),
        ("t.json/t+0+0000000000", "application/octet-stream"),
    ],
)
def test_media_types(name: str, type_: str) -> None:
    assert objects.content_type(name) == type_


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
        (answer("SlowDown"), StoreUnavailable),
        (answer("InternalError"), StoreUnavailable),
        (answer("404"), StoreUnavailable),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), StoreUnavailable),
    ],
)
def test_errors(error: Exception, kind: type[Exception]) -> None:
    found = objects.translated(error, CONFIG, "topics/x")
    assert type(found) is kind
    assert "object topics/x of bucket b" in str(found)
    assert "topsecret" not in str(found)


class Answers:
    """A store that answers with what a test wants: status and code of an error, or `ok`; then always `ok`."""

    def __init__(self) -> None:
        self.wanted: list[str] = []
        self.requests: list[tuple[str, bytes]] = []
        self.keys: list[str] = []
        self.encryption: list[str] = []
        answers = self

        class Store(Handler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                answers.requests.append((f"{self.command} {self.path}", self.body()))
                answers.encryption.append(self.headers.get("x-amz-server-side-encryption-customer-algorithm", ""))
                answers.keys.append(self.headers.get("Authorization", "").partition("Credential=")[2].partition("/")[0])
                wanted = answers.wanted.pop(0) if answers.wanted else "ok"
                status, _, code = wanted.partition(" ")
                text = f"<Error><Code>{code}</Code><Message>m</Message></Error>" if code else _OK
                self.send_response(200 if wanted == "ok" else int(status))
                self.send_header("ETag", '"e"')
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_PUT = do_POST = do_DELETE = _answer

        self.server = server_of(Store)
        self.config = replace(CONFIG, endpoint=url_of(self.server), backoff_ms=1, part_bytes=100)


_OK = (
    "<InitiateMultipartUploadResult><UploadId>u</UploadId><ETag>e</ETag><Bucket>b</Bucket><Key>k</Key>"
    "</InitiateMultipartUploadResult>"
)


@pytest.fixture
def answers() -> Iterator[Answers]:
    found = Answers()
    with running(found.server):
        yield found


def put(answers: Answers, data: bytes, **changes: object) -> None:
    store = ObjectStore(replace(answers.config, **changes))  # type: ignore[arg-type]
    store.put("k", io.BytesIO(data), len(data), ())


@pytest.mark.parametrize("fault", ["503 SlowDown", "500 InternalError", "429 TooManyRequests"])
def test_a_store_that_is_busy_gets_the_whole_object_again(answers: Answers, fault: str) -> None:
    answers.wanted = [fault] * 3
    put(answers, b"data")
    assert answers.requests == [("PUT /b/k", b"data")] * 4


def test_an_object_is_got_with_the_key_that_it_was_put_with(answers: Answers) -> None:
    key = base64.b64encode(b"k" * 32).decode()
    put(answers, b"data", encryption_key=key)
    assert ObjectStore(replace(answers.config, encryption_key=key)).get("k") == _OK.encode()
    assert answers.encryption == ["AES256", "AES256"]


def test_retries_end(answers: Answers) -> None:
    answers.wanted = ["503 SlowDown"] * 3
    with pytest.raises(StoreUnavailable, match="SlowDown"):
        put(answers, b"data", retries=2)
    assert len(answers.requests) == 3


def test_a_refusal_is_not_tried_again(answers: Answers) -> None:
    answers.wanted = ["403 AccessDenied"]
    with pytest.raises(ConfigError, match="refuses object k of bucket b"):
        put(answers, b"data")
    assert len(answers.requests) == 1


def test_large_objects_go_in_parts_of_which_each_is_tried_again(answers: Answers) -> None:
    answers.wanted = ["ok", "ok", "503 SlowDown"]
    put(answers, b"a" * 100 + b"b" * 100 + b"c" * 50)
    assert [request for request, _ in answers.requests] == [
        "POST /b/k?uploads",
        *("PUT /b/k?uploadId=u&partNumber=1", "PUT /b/k?uploadId=u&partNumber=2", "PUT /b/k?uploadId=u&partNumber=2"),
        *("PUT /b/k?uploadId=u&partNumber=3", "POST /b/k?uploadId=u"),
    ]
    assert [body for _, body in answers.requests[1:5]] == [b"a" * 100, b"b" * 100, b"b" * 100, b"c" * 50]


def test_parts_of_an_object_that_cannot_be_stored_are_removed(answers: Answers) -> None:
    answers.wanted = ["ok", "ok", "403 AccessDenied"]
    with pytest.raises(ConfigError):
        put(answers, b"a" * 250)
    assert answers.requests[-1][0] == "DELETE /b/k?uploadId=u"


def test_keys_of_the_environment_that_have_expired_are_looked_up_again(
    answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    file.write_text("[default]\naws_access_key_id = OLD\naws_secret_access_key = s\n")
    put(answers, b"1", access_key="", secret_key="")
    file.write_text("[default]\naws_access_key_id = NEW\naws_secret_access_key = s\n")
    answers.wanted = ["400 ExpiredToken"]
    put(answers, b"2", access_key="", secret_key="")
    assert answers.keys == ["OLD", "OLD", "NEW"]


def test_keys_of_the_configuration_that_have_expired_need_a_new_start(answers: Answers) -> None:
    answers.wanted = ["400 ExpiredToken"]
    with pytest.raises(ServiceUnavailable, match="^the access keys for http://127.0.0.1:[0-9]+ have expired") as raised:
        put(answers, b"1")
    assert type(raised.value) is ServiceUnavailable
    assert len(answers.requests) == 1


def test_an_object_is_put_over_the_one_that_is_known(answers: Answers) -> None:
    store = ObjectStore(answers.config)
    assert store.put_over("k", b"new", '"old"') == '"e"'
    answers.wanted = ["412 PreconditionFailed"]
    assert store.put_over("k", b"newer", '"old"') is None


@pytest.mark.parametrize(
    ("answer", "keeps"),
    [
        (["412 PreconditionFailed", "412 PreconditionFailed"], True),
        (["ok"], False),
        (["412 PreconditionFailed", "ok"], False),
        (["501 NotImplemented"], False),
        (["412 PreconditionFailed", "400 InvalidArgument"], False),
    ],
)
def test_whether_a_store_keeps_conditions(answers: Answers, answer: list[str], keeps: bool) -> None:
    answers.wanted = list(answer)
    assert ObjectStore(answers.config).keeps_conditions("k", b"data") == keeps
    assert answers.requests == [("PUT /b/k", b"data")] * len(answer)


def test_conditions_of_a_store_that_refuses_are_not_known(answers: Answers) -> None:
    answers.wanted = ["403 AccessDenied"]
    with pytest.raises(ConfigError, match="refuses object k"):
        ObjectStore(answers.config).keeps_conditions("k", b"data")
