"""Access to a Kafka Connect REST API: address, credentials, certificates."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from frazil.environment.urls import is_this_machine
from frazil.errors import ConfigError


@dataclass(frozen=True)
class ConnectAccess:
    """Address of a worker and what it asks of its clients.

    `source` names where the address comes from, for messages: an environment variable or a context. `ca_file` has the
    PEM certificates that the worker is trusted by, instead of those that Python knows; `cert_file` and `key_file` are
    the client's own, in PEM, for a worker that asks for one. `embedded` tells that it is the worker of the home.
    """

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    source: str = "KAFKA_CONNECT_URL"
    embedded: bool = False

    @property
    def of_context(self) -> bool:
        """Whether a context has these values, and no variables."""
        return self.source.startswith("context ")

    def check(self) -> None:
        """Raise ConfigError when the parts do not fit together, or a password would go over the net in plain text."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{self.source}: {self.url} is not a URL that starts with http:// or https://")
        if parts.username or parts.password:
            raise ConfigError(f"{self.source}: the URL has credentials in it; give user and password by themselves")
        if self.password and not self.user:
            raise ConfigError(f"{self.source}: a password is given without a user")
        if self.key_file and not self.cert_file:
            raise ConfigError(f"{self.source}: a key file is given without a certificate file")
        if self.user and parts.scheme == "http" and not is_this_machine(parts.hostname):
            raise ConfigError(
                f"{self.source}: a password is sent over https only, or to this machine; {self.url} is neither. "
                "Nothing was sent."
            )
        for file in (self.ca_file, self.cert_file, self.key_file):
            if file is not None and not file.is_file():
                raise ConfigError(f"{self.source}: there is no file {file}")
