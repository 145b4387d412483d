"""Location of the objects of a sink, and access to it."""

from dataclasses import dataclass, field
from urllib.parse import quote

from frazil.declare.definition import Parsed


@dataclass(frozen=True)
class ObjectStoreConfig:
    """Access to the bucket, and properties of the objects. `part_bytes` is the size of a part of a large object.
    A failed request is tried again `retries` times, the first time after `backoff_ms`.

    `endpoint` is None for AWS. Without access keys those of the AWS environment count. `tags` are (key, value);
    `tag_offsets` adds `startOffset`, `endOffset` and `recordCount` to each object.
    """

    bucket: str
    region: str
    endpoint: str | None = None
    path_style: bool = True
    accelerate: bool = False
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)
    part_bytes: int = 25 << 20
    retries: int = 3
    backoff_ms: int = 200
    encryption: str = ""
    encryption_key: str = field(default="", repr=False)
    kms_key: str = ""
    acl: str = ""
    tags: tuple[tuple[str, str], ...] = ()
    tag_offsets: bool = False
    proxy: str = field(default="", repr=False)


def object_store_config(parsed: Parsed) -> ObjectStoreConfig:
    """The typed result of a configuration without errors."""
    url = parsed.text("store.url")
    return ObjectStoreConfig(
        bucket=parsed.text("s3.bucket.name"),
        region=parsed.text("s3.region"),
        endpoint=(url if "://" in url else f"https://{url}") if url else None,
        path_style=parsed.flag("s3.path.style.access.enabled"),
        accelerate=parsed.flag("s3.wan.mode"),
        access_key=parsed.text("aws.access.key.id"),
        secret_key=parsed.text("aws.secret.access.key"),
        part_bytes=parsed.number("s3.part.size"),
        retries=parsed.number("s3.part.retries"),
        backoff_ms=parsed.number("s3.retry.backoff.ms"),
        encryption=parsed.text("s3.ssea.name"),
        encryption_key=parsed.text("s3.sse.customer.key"),
        kms_key=parsed.text("s3.sse.kms.key.id"),
        acl=parsed.text("s3.acl.canned"),
        tags=tuple(_tag(text) for text in parsed.items("s3.object.tagging.key.value.pairs")),
        tag_offsets=parsed.flag("s3.object.tagging"),
        proxy=_proxy(parsed),
    )


def _tag(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name.strip(), value.strip()


def _proxy(parsed: Parsed) -> str:
    """The URL of the proxy with its user and password, percent-encoded."""
    url, user = parsed.text("s3.proxy.url"), parsed.text("s3.proxy.user")
    if not url:
        return ""
    scheme, _, host = url.rpartition("://")
    login = f"{quote(user, safe='')}:{quote(parsed.text('s3.proxy.password'), safe='')}@" if user else ""
    return f"{scheme or 'http'}://{login}{host}"
