"""The statement that gives Trino the catalog of the warehouse."""

from typing import Final

from frazil.environment.settings import Settings
from frazil.text.quoting import identifier

SECRETS: Final = ("MINIO_ACCESS_KEY", "MINIO_SECRET_KEY")
"""Variables of the stack's Trino that the statement refers to, so that it holds no key."""

_FIRST_WITH_SECURITY = 477


def catalog_statement(settings: Settings, version: int) -> str:
    """`CREATE CATALOG` for the warehouse in the spelling of a Trino release.

    That of the stack's own Trino only reads: up to release 479 the page of a statement that writes shows the keys
    (CVE-2026-34214), and whoever reaches the port sees that page.
    """
    access_key, secret_key = (
        (settings.access_key, settings.secret_key)
        if settings.trino_external
        else (f"${{ENV:{name}}}" for name in SECRETS)
    )
    security = {} if settings.trino_external else {"iceberg.security": "READ_ONLY"}
    signed = (
        {"iceberg.rest-catalog.security": "SIGV4"}
        if version >= _FIRST_WITH_SECURITY
        else {"iceberg.rest-catalog.sigv4-enabled": "true"}
    )
    properties = {
        "iceberg.catalog.type": "rest",
        "iceberg.rest-catalog.uri": settings.catalog_uri,
        "iceberg.rest-catalog.warehouse": settings.warehouse,
        **signed,
        **security,
        "iceberg.rest-catalog.signing-name": "s3tables",
        "fs.native-s3.enabled": "true",
        "s3.endpoint": settings.s3_endpoint,
        "s3.path-style-access": "true",
        "s3.region": settings.region,
        "s3.aws-access-key": access_key,
        "s3.aws-secret-key": secret_key,
    }
    listed = ",\n  ".join(f"{identifier(name)} = {_text(value)}" for name, value in properties.items())
    return f"CREATE CATALOG IF NOT EXISTS {identifier(settings.sql_catalog)} USING iceberg WITH (\n  {listed}\n)"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
