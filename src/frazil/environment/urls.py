"""Addresses of servers as people write them in variables, and names of this machine."""

from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from frazil.errors import ConfigError


def check_url(name: str, text: str) -> None:
    """Raise ConfigError when the URL that a variable holds cannot be called.

    A user or a password in it is refused without being shown: addresses are printed by `status` and in errors.
    """
    try:
        url = urlsplit(text)
        credentials = url.username is not None or url.password is not None
        host, port = url.hostname or "", url.port
        host.encode("idna")  # labels that are empty or too long
    except ValueError:  # its text may hold a piece of a password
        raise ConfigError(f"{name}: its value is not a URL; expected one like http://host:port") from None
    if credentials:
        raise ConfigError(f"{name} holds a user or a password; take them out: they have a place of their own")
    if url.scheme not in ("http", "https"):
        raise ConfigError(f"{name}={text}: expected a URL that starts with http:// or https://")
    if not host or port == 0 or any(character.isspace() or not character.isprintable() for character in text):
        raise ConfigError(f"{name}={text}: expected a host, and a port between 1 and 65535 where one is given")


def is_this_machine(host: str) -> bool:
    """Whether data sent to `host`, a name or an address without brackets, stays on this machine.

    A name that only looks like an address, as `127.example.org`, may be any machine.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower() == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
