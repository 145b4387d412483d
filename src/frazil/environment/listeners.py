"""Listeners of the REST API: the keys `listeners` and `admin.listeners` of Kafka Connect's worker."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from frazil.environment.urls import is_this_machine
from frazil.errors import ConfigError

_EVERYWHERE = {"", "0.0.0.0", "::"}  # noqa: S104 - names that are compared with
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Listener:
    """Address to listen at. An empty host is every interface of the machine, as in Kafka Connect."""

    scheme: str
    host: str
    port: int

    @property
    def bind(self) -> str:
        """Address to bind to."""
        return self.host or "0.0.0.0"  # noqa: S104 - what the empty host of a listener means

    @property
    def url(self) -> str:
        """Address for clients on this machine."""
        host = _LOOPBACK if self.host in _EVERYWHERE else self.host
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def is_everywhere(self) -> bool:
        """Whether the listener is on every interface, so that others need a name for it."""
        return self.host in _EVERYWHERE

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return is_this_machine(self.host)


def parse_listeners(text: str, key: str) -> list[Listener]:
    """`http://host:port,https://…`; raises ConfigError that names the key."""
    found = []
    for part in (piece.strip() for piece in text.split(",")):
        try:
            url = urlsplit(part)
            port, host = url.port, url.hostname or ""
        except ValueError:
            url, port, host = urlsplit(""), None, ""
        if url.scheme.lower() not in ("http", "https") or port is None or url.path.strip("/"):
            raise ConfigError(
                f"{key} has {part!r}; expected http://host:port or https://host:port, separated by commas"
            )
        found.append(Listener(url.scheme.lower(), host, port))
    return found
