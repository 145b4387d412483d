"""Settings of Kafka's Java consumer in the words of librdkafka's, which the tasks read with.

Source of the keys: the configuration references of Kafka 4.3 and of librdkafka 2.
"""

from __future__ import annotations

from collections.abc import Mapping

_SAME = (
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "connections.max.idle.ms",
    "fetch.max.bytes",
    "fetch.min.bytes",
    "isolation.level",
    "max.partition.fetch.bytes",
    "metadata.max.age.ms",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "socket.connection.setup.timeout.ms",
)
NAMES: Mapping[str, str] = {
    **{name: name for name in _SAME},
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
"""Java's names, and librdkafka's."""

_GROWING = {"reconnect.backoff": 10_000, "retry.backoff": 1_000}
"""Pauses that grow up to `<name>.max.ms`, which has this default and may not be less than `<name>.ms`."""
_SYSTEM = "-1"
"""Java's size of a buffer that the system chooses."""
_LARGEST: Mapping[str, int] = {
    "fetch.max.bytes": 2_147_483_135,
    "fetch.min.bytes": 100_000_000,
    "fetch.wait.max.ms": 300_000,
    "max.partition.fetch.bytes": 1_000_000_000,
    "metadata.max.age.ms": 86_400_000,
    "reconnect.backoff.max.ms": 3_600_000,
    "reconnect.backoff.ms": 3_600_000,
    "retry.backoff.max.ms": 300_000,
    "retry.backoff.ms": 300_000,
    "socket.receive.buffer.bytes": 100_000_000,
    "socket.send.buffer.bytes": 100_000_000,
    "socket.timeout.ms": 300_000,
}
"""What librdkafka takes at most, where Java takes more."""


def consumer_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Those that librdkafka has, under its names; a number above its largest is that one.

    What is about groups, and Java's own, has no effect on a reader of ranges and is left out.
    """
    found = {NAMES[name]: value.strip() for name, value in settings.items() if name in NAMES}
    found = {name: _within(name, value) for name, value in found.items()}
    for name, default in _GROWING.items():
        first, most = found.get(f"{name}.ms", ""), found.get(f"{name}.max.ms", str(default))
        if first.isdecimal() and most.isdecimal():
            found[f"{name}.max.ms"] = str(max(int(first), int(most)))
    return found


def _within(name: str, value: str) -> str:
    if name.endswith(".buffer.bytes") and value == _SYSTEM:
        return "0"
    largest = _LARGEST.get(name)
    return str(min(int(value), largest)) if largest is not None and value.isdecimal() else value
