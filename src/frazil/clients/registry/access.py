"""Access to a schema registry, from the keys of a converter: addresses, login, certificates."""

import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from frazil.clients.kafka.certificates import Identity, identity, trusted
from frazil.errors import ConfigError

Api = Literal["confluent", "apicurio"]

_TIMEOUT_MS = "60000"
_HEADER = "request.header."
_OAUTH_HEADERS = {
    "bearer.auth.logical.cluster": "target-sr-cluster",
    "bearer.auth.identity.pool.id": "Confluent-Identity-Pool-Id",
}
_APICURIO_OAUTH = (
    "apicurio.registry.auth.service.token.endpoint",
    "apicurio.registry.auth.client.id",
    "apicurio.registry.auth.client.secret",
    "apicurio.registry.auth.client.scope",
)
"""Keys of the address, the client, its secret and the scope."""


@dataclass(frozen=True)
class ClientCredentials:
    """Login of a client at an identity provider; `key` is that of its address.

    A token is renewed `spare` seconds before its end.
    """

    url: str
    key: str
    client: str
    secret: str = field(repr=False)
    scope: str = ""
    spare: float = 0.0


@dataclass(frozen=True)
class RegistryAccess:
    """Addresses of one registry, tried in turn, and its login; picklable and hashable, since it travels to the tasks.

    `source` is the key that names the addresses and `login` the one to correct when they refuse us; both are for
    messages. `headers` are added to requests. `trusted` are PEM certificates, those that Python knows when empty. Times
    are in seconds.
    """

    urls: tuple[str, ...]
    api: Api = "confluent"
    source: str = "SCHEMA_REGISTRY_URL"
    login: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    oauth: ClientCredentials | None = None
    trusted: str = field(default="", repr=False)
    identity: Identity | None = field(default=None, repr=False)
    connect_timeout: float = 60.0
    read_timeout: float = 60.0
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def tls(self) -> ssl.SSLContext | bool:
        """Make the check of certificates, with our own one. Raises ConfigError for certificates that cannot be used.

        Reading what Python knows takes longer than a request: where no address needs it, nobody is trusted.
        """
        if not (self.trusted or self.identity):
            asked = (*self.urls, *((self.oauth.url,) if self.oauth else ()))
            return any(url.startswith("https:") for url in asked) or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context = ssl.create_default_context(cadata=self.trusted or None)
            if self.identity is not None:
                with tempfile.TemporaryDirectory(prefix="frazil-registry-") as folder:
                    file = Path(folder, "identity.pem")
                    file.touch(0o600)
                    file.write_text(self.identity.key + self.identity.certificates)
                    context.load_cert_chain(file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"{self.source}: the certificates cannot be used: {error}") from None
        return context


def confluent_access(options: Mapping[str, str], prefix: str) -> RegistryAccess:
    """Access from the keys of Confluent's converters, without `prefix`. Raises ConfigError, which names the key."""
    source = "schema.registry.url"
    urls, user_info = _addresses(options.get(source, ""), prefix + source)
    user = password = token = ""
    oauth = None
    headers = {name.removeprefix(_HEADER): text for name, text in options.items() if name.startswith(_HEADER)}
    login = prefix + source
    if options.get("bearer.auth.credentials.source") == "OAUTHBEARER":
        login = f"{prefix}bearer.auth.client.id"
        spare = float(options.get("bearer.auth.cache.expiry.buffer.seconds", "300"))
        names = ("issuer.endpoint.url", "client.id", "client.secret", "scope")
        oauth = _oauth(options, prefix, tuple(f"bearer.auth.{name}" for name in names), spare)
        headers |= {name: options[key] for key, name in _OAUTH_HEADERS.items() if options.get(key)}
    elif options.get("bearer.auth.credentials.source"):
        login, token = f"{prefix}bearer.auth.token", options.get("bearer.auth.token", "")
        if not token:
            raise ConfigError(f"{login} is not set, and bearer.auth.credentials.source asks for it")
    elif options.get("basic.auth.credentials.source", "URL").upper() == "USER_INFO":
        login = f"{prefix}basic.auth.user.info"
        info = options.get("basic.auth.user.info") or options.get("schema.registry.basic.auth.user.info", "")
        user, colon, password = info.partition(":")
        if not colon:
            raise ConfigError(f"{login}: expected user:password")
    else:
        user, password = user_info
    stores = {name: value for name, value in options.items() if name.startswith("schema.registry.ssl.")}
    return RegistryAccess(
        urls,
        "confluent",
        prefix + source,
        login,
        user,
        password,
        token,
        oauth,
        trusted(stores, "schema.registry.") or "",
        identity(stores, "schema.registry."),
        int(options.get("http.connect.timeout.ms", _TIMEOUT_MS)) / 1000,
        int(options.get("http.read.timeout.ms", _TIMEOUT_MS)) / 1000,
        tuple(headers.items()),
    )


def apicurio_access(options: Mapping[str, str], prefix: str) -> RegistryAccess:
    """Access from the keys of Apicurio's converters, without `prefix`. Raises ConfigError, which names the key."""
    name = "apicurio.registry."
    urls, (user, password) = _addresses(options.get(f"{name}url", ""), f"{prefix}{name}url")
    stores = {
        f"ssl.{key.removeprefix(f'{name}tls.')}": value
        for key, value in options.items()
        if key.startswith(f"{name}tls.")
    }
    return RegistryAccess(
        tuple(url if "/apis/" in url else f"{url}/apis/registry/v3" for url in urls),
        "apicurio",
        f"{prefix}{name}url",
        f"{prefix}{name}auth.username",
        user or options.get(f"{name}auth.username", ""),
        password or options.get(f"{name}auth.password", ""),
        oauth=_oauth(options, prefix, _APICURIO_OAUTH, 10) if options.get(_APICURIO_OAUTH[0]) else None,
        trusted=trusted(stores) or "",
        identity=identity(stores),
    )


def _oauth(options: Mapping[str, str], prefix: str, keys: tuple[str, ...], spare: float) -> ClientCredentials:
    """Read address, client, secret and scope. Raises ConfigError for what is missing."""
    url, client, secret, scope = (options.get(key, "") for key in keys)
    for key, text in zip(keys, (url, client, secret), strict=False):
        if not text:
            raise ConfigError(f"{prefix}{key} is not set, and the login with OAuth needs it")
    _addresses(url, prefix + keys[0])
    return ClientCredentials(url, prefix + keys[0], client, secret, scope, spare)


def _addresses(text: str, key: str) -> tuple[tuple[str, ...], tuple[str, str]]:
    """The URLs of a list without the login that they may hold, and that login."""
    urls, login = [], ("", "")
    for entry in filter(None, (part.strip() for part in text.split(","))):
        try:
            parts = urlsplit(entry)
            port = parts.port
        except ValueError:  # its text may hold a piece of a password
            raise ConfigError(f"{key}: its value is not a URL; expected one like http://host:port") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise ConfigError(f"{key}: expected URLs that start with http:// or https://, separated by commas")
        if parts.username:
            login = unquote(parts.username), unquote(parts.password or "")
        urls.append(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/"))
    if not urls:
        raise ConfigError(f"{key} is not set, and the converter needs the URL of a schema registry")
    return tuple(urls), login
