"""The object store of an object sink, through the AWS SDK (object-sinks.md 2.3)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any
from urllib.parse import urlencode

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from frazil.config.object_store import ObjectStoreConfig
from frazil.errors import ConfigError, FrazilError, ServiceUnavailable

_CONNECT_S, _READ_S = 5, 60
_CONNECTIONS = 16
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
    "InvalidTag",
    "KeyTooLongError",
)
"""Answers that stay the same until the configuration, or the store, is changed."""


@dataclass(frozen=True)
class ObjectStore:
    """A bucket; picklable, and safe for several threads."""

    config: ObjectStoreConfig

    def open(self) -> ObjectStore:
        """The store itself: its connections are those of the process."""
        return self

    def check(self) -> None:
        """Raises ConfigError when the bucket does not exist or may not be used, ServiceUnavailable without answer."""
        try:
            _client(self.config).head_bucket(Bucket=self.config.bucket)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in ("404", "NoSuchBucket"):
                raise ConfigError(
                    f"Non-existent S3 bucket: {self.config.bucket}. Nothing was read. Make it, or correct "
                    "s3.bucket.name, s3.region and store.url."
                ) from None
            raise translated(error, self.config, "") from error
        except BotoCoreError as error:
            raise translated(error, self.config, "") from error

    def create(self) -> bool:
        """Make the bucket; False when it was there. Raises as `put` does."""
        try:
            _client(self.config).create_bucket(Bucket=self.config.bucket)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in ("BucketAlreadyExists", "BucketAlreadyOwnedByYou"):
                return False
            raise translated(error, self.config, "") from error
        except BotoCoreError as error:
            raise translated(error, self.config, "") from error
        return True

    def names(self, prefix: str) -> Iterator[str]:
        """Names of objects that begin so, in order. Raises as `put` does."""
        pages = _client(self.config).get_paginator("list_objects_v2")
        try:
            for page in pages.paginate(Bucket=self.config.bucket, Prefix=prefix):
                yield from (each["Key"] for each in page.get("Contents", ()))
        except (ClientError, BotoCoreError) as error:
            raise translated(error, self.config, f"{prefix}*") from error

    def get(self, name: str) -> bytes | None:
        """An object; None when there is none. Raises as `put` does."""
        try:
            body: bytes = _client(self.config).get_object(Bucket=self.config.bucket, Key=name)["Body"].read()
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in ("404", "NoSuchKey"):
                return None
            raise translated(error, self.config, name) from error
        except BotoCoreError as error:
            raise translated(error, self.config, name) from error
        return body

    def put(self, name: str, body: IO[bytes], size: int, tags: tuple[tuple[str, str], ...]) -> None:
        """Store an object in place of one with the same name; returns when it is durable.

        Raises ServiceUnavailable or ConfigError; the object is not there then, or as it was.
        """
        config = self.config
        options = put_options(config, (*config.tags, *tags))
        try:
            if size < config.part_bytes:
                _client(config).put_object(Bucket=config.bucket, Key=name, Body=body, ContentLength=size, **options)
            else:
                _client(config).upload_fileobj(
                    body,
                    config.bucket,
                    name,
                    ExtraArgs=options,
                    Config=TransferConfig(config.part_bytes, multipart_chunksize=config.part_bytes, use_threads=False),
                )
        except (ClientError, BotoCoreError, boto3.exceptions.Boto3Error) as error:
            raise translated(error, config, name) from error


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
        },
        retries={"total_max_attempts": config.retries + 1, "mode": "standard"},
        connect_timeout=_CONNECT_S,
        read_timeout=_READ_S,
        max_pool_connections=_CONNECTIONS,
        proxies={"http": config.proxy, "https": config.proxy} if config.proxy else None,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return boto3.Session().client("s3", endpoint_url=config.endpoint, config=settings, **keys)


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


def translated(error: Exception, config: ObjectStoreConfig, name: str) -> FrazilError:
    """Our error for one of the SDK; neither has access keys in its text."""
    what = f"object {name} of bucket {config.bucket}" if name else f"bucket {config.bucket}"
    where = config.endpoint or f"AWS {config.region}"
    cause = error.__cause__ if isinstance(error, boto3.exceptions.Boto3Error) and error.__cause__ else error
    code = cause.response.get("Error", {}).get("Code", "") if isinstance(cause, ClientError) else ""
    if code in _REFUSALS or isinstance(cause, NoCredentialsError | PartialCredentialsError):
        return ConfigError(
            f"the store at {where} refuses {what}: {cause}. What was stored before is complete, and the position has "
            "not moved past what is not. Correct bucket, access keys or rights, then restart the connector."
        )
    return ServiceUnavailable(f"the store at {where} does not take {what}: {cause}; the records are read again")
