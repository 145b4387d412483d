"""Names of this machine."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


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
