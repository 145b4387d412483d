"""The object store of an object sink, through the AWS SDK."""

import base64
import binascii
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ValidationError,
)
from s3transfer.utils import ReadFileChunk
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from frazil.clients.calls import timed
from frazil.clients.object_store import ObjectStoreConfig
from frazil.environment.urls import is_this_machine
from frazil.errors import ConfigError, FrazilError, ServiceUnavailable, StoreUnavailable

logger = logging.getLogger(__name__)

_CONNECT_S, _READ_S = 5, 30
_LONGEST_WAIT_S = 20.0
_CONNECTIONS = 16
_MOST_PARTS = 10_000
_AT_ONCE = 1 << 20
"""Objects of so many bytes go with the request; before larger ones the SDK asks whether the store wants them."""
_REFUSALS = (
    "403",
    "AccessDenied",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "NoSuchBucket",
    "InvalidBucketName",
    "AuthorizationHeaderMalformed",
    "PermanentRedirect",
    "InvalidArgument",
    "InvalidRequest",
    "InvalidURI",
    "InvalidTag",
    "KeyTooLongError",
    "501",
    "NotImplemented",
)
"""Answers that stay the same until the configuration, or the store, is changed."""
_WITHOUT_CONDITIONS = ("501", "NotImplemented", "InvalidArgument", "InvalidRequest")
"""Answers of stores that do not know conditions of puts."""
_FOR_GOOD = (NoCredentialsError, PartialCredentialsError, ParamValidationError, ValidationError)
"""Errors of requests that the SDK does not send: without access keys, or with a name that none can be."""
_CONTENT_TYPES = {"json": "application/x-ndjson", "parquet": "application/vnd.apache.parquet", "gz": "application/gzip"}
_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired")


@dataclass(frozen=True)
class Found:
    """An object as the store has it."""

    data: bytes
    etag: str


@dataclass(frozen=True)
class ObjectStore:
    """A bucket; picklable, and safe for several threads.

    A request that fails for a while is tried again `config.retries` times; the wait begins with `config.backoff_ms` and
    doubles, with as much at random on top.
    """

    config: ObjectStoreConfig

    def check(self) -> None:
        """Raises ConfigError when the bucket does not exist or may not be used, StoreUnavailable without answer."""
        self._call("", lambda client: client.head_bucket(Bucket=self.config.bucket))

    def create(self) -> bool:
        """Make the bucket; False when it was there. Raises as `put` does."""

        made = _none_for(
            ("BucketAlreadyExists", "BucketAlreadyOwnedByYou"),
            lambda client: client.create_bucket(Bucket=self.config.bucket),
        )
        return self._call("", made) is not None

    def names(self, prefix: str) -> Iterator[str]:
        """Names of objects that begin so, in order. Raises as `put` does."""
        asked = {"Bucket": self.config.bucket, "Prefix": prefix}
        while True:
            page = self._call(f"{prefix}*", lambda client: client.list_objects_v2(**asked))
            yield from (each["Key"] for each in page.get("Contents", ()))
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def get(self, name: str) -> bytes | None:
        """An object; None when there is none. Raises as `put` does."""
        found = self.look(name)
        return None if found is None else found.data

    def look(self, name: str) -> Found | None:
        """An object with its ETag; None when there is none. Raises as `put` does."""
        keys = {key: value for key, value in put_options(self.config, ()).items() if key.startswith("SSECustomer")}

        def get(client: Any) -> Found:
            answer = client.get_object(Bucket=self.config.bucket, Key=name, **keys)
            return Found(answer["Body"].read(), answer["ETag"])

        found: Found | None = self._call(name, _none_for(("404", "NoSuchKey"), get))
        return found

    def put_over(self, name: str, data: bytes, etag: str) -> str | None:
        """Store a small object in place of the one with an ETag; returns the new ETag, None when it has another one.

        Raises as `put` does. Only a store that `keeps_conditions` tells.
        """
        return self._put_if(name, data, IfMatch=etag)

    def keeps_conditions(self, name: str, data: bytes) -> bool:
        """Whether the store refuses puts whose condition is not met. The object is there and has this content."""
        try:
            return (
                self._put_if(name, data, IfNoneMatch="*") is None
                and self._put_if(name, data, IfMatch=f'"{"0" * 32}"') is None
            )
        except ConfigError as error:
            if isinstance(error.__cause__, ClientError) and _code(error.__cause__) in _WITHOUT_CONDITIONS:
                return False
            raise

    def _put_if(self, name: str, data: bytes, **condition: str) -> str | None:
        options = {**put_options(self.config, self.config.tags), "ContentType": content_type(name), **condition}
        put = _none_for(
            ("412", "PreconditionFailed", "404", "NoSuchKey"),
            lambda client: str(client.put_object(Bucket=self.config.bucket, Key=name, Body=data, **options)["ETag"]),
        )
        etag: str | None = self._call(name, put)
        return etag

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        """Store an object in place of one with the same name; returns when it is durable.

        Raises StoreUnavailable, ConfigError, or ServiceUnavailable when access keys of the configuration have expired;
        the object is not there then, or as it was.
        """
        options = {**put_options(self.config, (*self.config.tags, *tags)), "ContentType": content_type(name)}
        if size >= self.config.part_bytes:
            self._put_parts(name, body, size, options)
            return

        def put(client: Any) -> None:
            body.seek(0)
            content = body.read() if size <= _AT_ONCE else body
            client.put_object(Bucket=self.config.bucket, Key=name, Body=content, ContentLength=size, **options)

        self._call(name, put)

    def _put_parts(self, name: str, body: IO[bytes], size: int, options: dict[str, Any]) -> None:
        where = {"Bucket": self.config.bucket, "Key": name}
        begun = self._call(name, lambda client: client.create_multipart_upload(**where, **options))
        upload = {**where, "UploadId": begun["UploadId"]}
        keys = {key: value for key, value in options.items() if key.startswith("SSECustomer")}
        length = max(self.config.part_bytes, -(-size // _MOST_PARTS))
        parts: list[dict[str, Any]] = []
        try:
            for begin in range(0, size, length):
                part = {**upload, **keys, "PartNumber": len(parts) + 1}
                send = partial(_put_part, part=part, body=body, begin=begin, length=length, size=size)
                answer = self._call(name, send)
                parts.append({"PartNumber": part["PartNumber"], "ETag": answer["ETag"]})
            whole = {"MultipartUpload": {"Parts": parts}}
            self._call(name, lambda client: client.complete_multipart_upload(**upload, **keys, **whole))
        except FrazilError:
            self._abort(upload)
            raise

    def _abort(self, upload: dict[str, Any]) -> None:
        try:
            _client(self.config).abort_multipart_upload(**upload)
        except (ClientError, BotoCoreError) as error:
            logger.warning(
                "parts of object %s of bucket %s stay at the store, where nobody sees them and they cost money: %s. A "
                "lifecycle rule for incomplete multipart uploads removes them",
                upload["Key"],
                upload["Bucket"],
                error,
            )

    def _call(self, name: str, call: Callable[[Any], Any]) -> Any:
        config = self.config
        backoff_s = config.backoff_ms / 1000
        attempts = Retrying(
            retry=retry_if_exception_type(StoreUnavailable),
            stop=stop_after_attempt(config.retries + 1),
            wait=wait_exponential_jitter(max=_LONGEST_WAIT_S, jitter=backoff_s, multiplier=backoff_s),
            reraise=True,
        )
        return attempts(self._once, name, call)

    def _once(self, name: str, call: Callable[[Any], Any]) -> Any:
        try:
            with timed("store"):
                return call(_client(self.config))
        except (ClientError, BotoCoreError) as error:
            failure = translated(error, self.config, name)
            if not _passes(error):
                _client.cache_clear()  # the AWS environment is asked for access keys again
            raise failure from error


def _put_part(client: Any, part: dict[str, Any], body: IO[bytes], begin: int, length: int, size: int) -> Any:
    body.seek(begin)
    return client.upload_part(**part, Body=ReadFileChunk(body, length, size))


@lru_cache(maxsize=8)
def _client(config: ObjectStoreConfig) -> Any:
    """The client of a store; connections are kept for all tasks of the process."""
    keys = {}
    if config.access_key:
        keys = {"aws_access_key_id": config.access_key, "aws_secret_access_key": config.secret_key}
    settings = Config(
        region_name=config.region,
        s3={
            "addressing_style": "path" if config.path_style else "virtual",
            "use_accelerate_endpoint": config.accelerate,
            "payload_signing_enabled": not has_safe_way(config),
        },
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=_CONNECT_S,
        read_timeout=_READ_S,
        max_pool_connections=_CONNECTIONS,
        proxies={"http": config.proxy, "https": config.proxy} if config.proxy else None,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return boto3.Session().client("s3", endpoint_url=config.endpoint, config=settings, **keys)


def has_safe_way(config: ObjectStoreConfig) -> bool:
    """Whether nobody on the way to the store can change a body: TLS, or a store on this machine.

    Its hash is no part of the signature then, as other SDKs have it; it would cost a tenth of the CPU of a task.
    """
    found = urlsplit(config.endpoint or "https://")
    return found.scheme == "https" or (not config.proxy and is_this_machine(found.hostname or ""))


def content_type(name: str) -> str:
    """The media type of an object, by its extension.

    A store that is told none looks for one itself: SeaweedFS then takes lines for text and packs them once more, which
    costs it a quarter of its CPU.
    """
    return _CONTENT_TYPES.get(name.rpartition(".")[2], "application/octet-stream")


def put_options(config: ObjectStoreConfig, tags: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Properties of an object, as the SDK names them."""
    options: dict[str, Any] = {}
    if tags:
        options["Tagging"] = urlencode(tags)
    if config.acl:
        options["ACL"] = config.acl
    if config.encryption_key:
        options["SSECustomerAlgorithm"] = config.encryption or "AES256"
        try:
            options["SSECustomerKey"] = base64.b64decode(config.encryption_key, validate=True)
        except binascii.Error:
            raise ConfigError("s3.sse.customer.key is not Base64; nothing was stored. Correct it.") from None
    elif config.encryption:
        options["ServerSideEncryption"] = config.encryption
        if config.kms_key:
            options["SSEKMSKeyId"] = config.kms_key
    return options


def _code(error: Exception) -> str:
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def _none_for(codes: Sequence[str], call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Give None in place of a call that the store answers with one of the codes."""

    def called(client: Any) -> Any:
        try:
            return call(client)
        except ClientError as error:
            if _code(error) in codes:
                return None
            raise

    return called


def _passes(error: Exception) -> bool:
    """Whether the store may accept the same access keys next time."""
    return _code(error) not in (*_REFUSALS, *_EXPIRED) and not isinstance(error, NoCredentialsError)


def translated(error: Exception, config: ObjectStoreConfig, name: str) -> FrazilError:
    """Translate an error of the SDK; neither text has access keys."""
    what = f"object {name} of bucket {config.bucket}" if name else f"bucket {config.bucket}"
    where = config.endpoint or f"AWS {config.region}"
    code = _code(error)
    if not name and code in ("404", "NoSuchBucket"):
        return ConfigError(
            f"Non-existent S3 bucket: {config.bucket}. Nothing was read. Make it, or correct s3.bucket.name, s3.region "
            "and store.url."
        )
    if code in _REFUSALS or isinstance(error, _FOR_GOOD):
        return ConfigError(
            f"the store at {where} refuses {what}: {error}. What was stored before is complete, and the position has "
            "not moved past what is not. Correct bucket, access keys or rights, then restart the connector."
        )
    if code in _EXPIRED and config.access_key:
        return ServiceUnavailable(
            f"the access keys for {where} have expired ({error}); the connector starts again with those that its "
            "configuration stands for by then, and reads the records again"
        )
    return StoreUnavailable(f"the store at {where} does not take {what}: {error}; the records are read again")
