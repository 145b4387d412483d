"""Properties of a catalog that count, by who says them: none names code to be loaded.

Iceberg's libraries load the classes that properties name, also those that a catalog answers with and those of a table.
So what a server or a table says is taken by name, and what a configuration says is refused where it names a class that
is not one of those that Iceberg's own documentation has everybody write.
"""

import re
from collections.abc import Mapping

from frazil.errors import ConfigError

_STORES: dict[str, tuple[str, ...]] = {
    "client": ("region", "access-key-id", "secret-access-key", "session-token", "role-arn", "role-session-name"),
    "s3": (
        "endpoint",
        "region",
        "access-key-id",
        "secret-access-key",
        "session-token",
        "role-arn",
        "role-session-name",
        "anonymous",
        "resolve-region",
        "proxy-uri",
        "connect-timeout",
        "request-timeout",
        "force-virtual-addressing",
    ),
    "adls": (
        "account-name",
        "account-key",
        "sas-token",
        "client-id",
        "client-secret",
        "tenant-id",
        "blob-storage-authority",
        "blob-storage-scheme",
        "dfs-storage-authority",
        "dfs-storage-scheme",
    ),
    "gcs": ("oauth2.token", "oauth2.token-expires-at", "service.host", "default-bucket-location"),
}
_ACCESS = frozenset(f"{store}.{name}" for store, names in _STORES.items() for name in names)
_SERVER = frozenset(
    {
        "uri",
        "prefix",
        "warehouse",
        "token",
        "credential",
        "scope",
        "audience",
        "resource",
        "oauth2-server-uri",
        "namespace-separator",
        "rest-page-size",
        "snapshot-loading-mode",
        "view-endpoints-supported",
        "rest.sigv4-enabled",
        "rest.signing-name",
        "rest.signing-region",
    }
)
_CODE = re.compile(r"(?:^|[.-])(?:impl|factory|provider)(?:$|\.)|(?:^|[.-])(?:auth|kms)[.-]type$|^auth(?:\.|$)")
_HEADER = "header."
_AUTH = frozenset({"none", "basic", "oauth2", "sigv4", "google"})
_KNOWN: dict[str, frozenset[str]] = {
    "io-impl": frozenset({"org.apache.iceberg.aws.s3.S3FileIO", "org.apache.iceberg.io.ResolvingFileIO"}),
    "py-io-impl": frozenset({"pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO"}),
    "catalog-impl": frozenset({"org.apache.iceberg.rest.RESTCatalog"}),
    "rest.auth.type": _AUTH,
    "rest.auth.sigv4.delegate-auth-type": _AUTH,
}


def named_code(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties that have a class loaded which their value names, but for the known ones of Iceberg."""
    return {
        key: value
        for key, value in properties.items()
        if _CODE.search(key) and not key.startswith(_HEADER) and value not in _KNOWN.get(key, ())
    }


def without_code(properties: Mapping[str, str], whose: str) -> dict[str, str]:
    """Keep what names no class. Raises ConfigError, which says `whose` they are, for a class that is none of the known.

    The known ones of file access and of the catalog are left out too: frazil has one of each.
    """
    refused = sorted(named_code(properties))
    if refused:
        raise ConfigError(
            f"{whose} name code to be loaded by {', '.join(refused)}; frazil loads none that is not its own. Nothing "
            "was done; remove these properties."
        )
    return {key: value for key, value in properties.items() if not key.endswith("-impl")}


def file_access(properties: Mapping[str, str]) -> dict[str, str]:
    """Keep what says how files are reached."""
    return {key: value for key, value in properties.items() if key in _ACCESS}


def merged(own: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
    """Merge the properties of a client with those that its server has told, and keep of these what a server may say.

    `told` are all properties as PyIceberg merges them: the server's defaults, the client's, the server's overrides.
    """
    allowed = _SERVER | _ACCESS
    return dict(own) | {k: v for k, v in told.items() if k in allowed or (k.startswith(_HEADER) and k not in own)}
