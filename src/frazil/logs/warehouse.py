"""Creates the warehouse of an AIStor server, whose catalog lies under `/_iceberg`."""

from __future__ import annotations

import hashlib
import json

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from frazil.environment.settings import Settings
from frazil.errors import ConfigError, ServiceUnavailable, TerminalError

_TIMEOUT_S = 30.0


def has_warehouse_api(settings: Settings) -> bool:
    """Whether the catalog is AIStor's, where a warehouse has to be created first."""
    return settings.catalog_uri.endswith("/_iceberg")


@retry(
    retry=retry_if_exception_type(ServiceUnavailable),
    stop=stop_after_attempt(4),
    wait=wait_exponential_jitter(multiplier=0.2, max=5, jitter=0.2),
    reraise=True,
)
def create_warehouse(settings: Settings) -> bool:
    """Create the warehouse; False when it is there already.

    A server error is tried four times, since concurrent requests make the server answer 500 (3.3). Raises
    ServiceUnavailable when it does not answer, ConfigError when it refuses the credentials or the name.
    """
    url = f"{settings.catalog_uri}/v1/warehouses"
    body = json.dumps({"name": settings.warehouse, "upgrade-existing": False}).encode()
    try:
        response = httpx.post(url, content=body, headers=_signed(settings, url, body), timeout=_TIMEOUT_S)
    except httpx.HTTPError as error:
        raise ServiceUnavailable(
            f"the catalog at {settings.catalog_uri} does not answer ({type(error).__name__}); the warehouse was not "
            "created. Check MINIO_ENDPOINT and that the server runs"
        ) from error
    if response.is_success:
        return True
    if response.status_code == httpx.codes.CONFLICT:
        return False
    text = f"the catalog at {settings.catalog_uri} did not create warehouse `{settings.warehouse}`: "
    text += f"{response.status_code} {response.text[:500]}"
    if response.is_server_error:
        raise ServiceUnavailable(text)
    if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        raise ConfigError(f"{text}. Check MINIO_ACCESS_KEY and MINIO_SECRET_KEY")
    if response.status_code == httpx.codes.BAD_REQUEST:
        raise ConfigError(f"{text}. Check WAREHOUSE_NAME: 3 to 63 lowercase letters, digits and hyphens")
    raise TerminalError(text)


def _signed(settings: Settings, url: str, body: bytes) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "X-Amz-Content-SHA256": hashlib.sha256(body).hexdigest()}
    request = AWSRequest("POST", url, headers=headers, data=body)
    SigV4Auth(Credentials(settings.access_key, settings.secret_key), "s3tables", settings.region).add_auth(request)
    return dict(request.headers.items())
