"""Settings of Kafka's Java consumer in the words of librdkafka's, which the tasks read with.

Source of the keys: the configuration references of Kafka 4.3 and of librdkafka 2.
"""

from collections.abc import Mapping

_SAME = (
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "connections.max.idle.ms",
    "fetch.max.bytes",
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
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
"""Java's names, and librdkafka's."""

_GROWING = {"reconnect.backoff": (100, 10_000), "retry.backoff": (100, 1_000)}
"""Pauses of `<name>.ms` that grow up to `<name>.max.ms`, which may not be less, with the defaults of both."""
_MESSAGE_BYTES = 1_000_000
"""Most bytes that librdkafka's producers send by default; it wants fetches to be no smaller."""
_LIMITS: Mapping[str, tuple[int, int]] = {
    "connections.max.idle.ms": (0, 2_147_483_647),
    "fetch.max.bytes": (1_000, 2_147_483_135),
    "max.partition.fetch.bytes": (1, 1_000_000_000),
    "metadata.max.age.ms": (1, 86_400_000),
    "reconnect.backoff.max.ms": (0, 3_600_000),
    "reconnect.backoff.ms": (0, 3_600_000),
    "retry.backoff.max.ms": (1, 300_000),
    "retry.backoff.ms": (1, 300_000),
    "socket.connection.setup.timeout.ms": (1_000, 2_147_483_647),
    "socket.receive.buffer.bytes": (0, 100_000_000),
    "socket.send.buffer.bytes": (0, 100_000_000),
    "socket.timeout.ms": (10, 300_000),
}
"""Limits of librdkafka, where Java takes less or more. Its 0 is Java's -1: a buffer of the system, no limit."""


def consumer_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Translate the settings that librdkafka has to its names; a number outside its limits is the nearest within.

    What is about groups, about waiting for records, and Java's own has no effect on a reader of ranges and is left out.
    """
    found = {NAMES[name]: _within(NAMES[name], value.strip()) for name, value in settings.items() if name in NAMES}
    for name, (first, most) in _GROWING.items():
        own, highest = found.get(f"{name}.ms"), found.get(f"{name}.max.ms")
        if own is not None:
            found[f"{name}.max.ms"] = str(max(int(own), int(highest or most)))
        elif highest is not None:
            found[f"{name}.ms"] = str(min(first, int(highest)))
    if "fetch.max.bytes" in found:
        found["message.max.bytes"] = str(min(int(found["fetch.max.bytes"]), _MESSAGE_BYTES))
    return found


def _within(name: str, value: str) -> str:
    if name not in _LIMITS:
        return value
    low, high = _LIMITS[name]
    return str(min(max(int(value), low), high))
