"""Settings of Kafka's clients that a sink connector overrides for itself, its consumer group among them."""

from collections.abc import Mapping
from typing import Literal

from frazil.declare.definition import Parsed, Type, Validator, invalid_value, parse_value
from frazil.declare.placeholders import has_placeholder
from frazil.declare.validators import at_least, one_of
from frazil.environment.bootstrap import is_security

OVERRIDE = "consumer.override."

_OVERRIDES: Mapping[str, tuple[Type, Validator | None]] = {
    "auto.commit.interval.ms": ("INT", at_least(0)),
    "auto.offset.reset": ("STRING", one_of("earliest", "latest")),
    "check.crcs": ("BOOLEAN", None),
    "client.dns.lookup": ("STRING", one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")),
    "connections.max.idle.ms": ("LONG", None),
    "default.api.timeout.ms": ("INT", at_least(0)),
    "fetch.max.bytes": ("INT", at_least(0)),
    "fetch.max.wait.ms": ("INT", at_least(0)),
    "fetch.min.bytes": ("INT", at_least(0)),
    "heartbeat.interval.ms": ("INT", None),
    "isolation.level": ("STRING", one_of("read_committed", "read_uncommitted")),
    "max.partition.fetch.bytes": ("INT", at_least(0)),
    "max.poll.interval.ms": ("INT", at_least(1)),
    "max.poll.records": ("INT", at_least(1)),
    "metadata.max.age.ms": ("LONG", at_least(0)),
    "receive.buffer.bytes": ("INT", at_least(-1)),
    "reconnect.backoff.max.ms": ("LONG", at_least(0)),
    "reconnect.backoff.ms": ("LONG", at_least(0)),
    "request.timeout.ms": ("INT", at_least(0)),
    "retry.backoff.max.ms": ("LONG", at_least(0)),
    "retry.backoff.ms": ("LONG", at_least(0)),
    "send.buffer.bytes": ("INT", at_least(-1)),
    "session.timeout.ms": ("INT", None),
    "socket.connection.setup.timeout.ms": ("LONG", None),
}
"""Types and limits of Kafka's consumer (configuration reference of Kafka 4.3)."""
_MANAGED_OVERRIDES = ("enable.auto.commit", "key.deserializer", "value.deserializer")
_CLASS_OVERRIDES = ("interceptor.classes", "metric.reporters", "partition.assignment.strategy")
_IDLE_OVERRIDES = (
    "auto.commit.interval.ms",
    "fetch.max.wait.ms",
    "fetch.min.bytes",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "max.poll.records",
    "session.timeout.ms",
)


def check_overrides(parsed: Parsed) -> None:
    """Rules of the settings that a connector overrides."""
    for name, text in parsed.members(OVERRIDE + "*").items():
        key = OVERRIDE + name
        problem = None if has_placeholder(text) else _problem_of_override(name, text)
        if problem:
            parsed.fail(key, invalid_value(key, text, problem))
        if name in _MANAGED_OVERRIDES:
            parsed.warn(f"{key} has no effect here: the worker sets it")
        if name in _CLASS_OVERRIDES:
            parsed.warn(f"{key} has no effect here: records are read by librdkafka, which loads no Java classes")
        if name in _IDLE_OVERRIDES:
            parsed.warn(f"{key} has no effect here: tasks read offsets that are there, in no group")
    for other in ("producer.override.", "admin.override."):
        for name in parsed.members(other + "*"):
            if not is_security(name):
                parsed.warn(f"{other}{name} has no effect here: only settings of security are overridden")
    for prefix in (OVERRIDE, "producer.override.", "admin.override."):
        if prefix in parsed.config:
            reason = "The name of the setting is missing behind the last dot. Complete or remove the key"
            parsed.fail(prefix, invalid_value(prefix, parsed.config[prefix], reason))


def _problem_of_override(name: str, text: str) -> str | None:
    if name == "bootstrap.servers":
        return "Topics are read from the worker's own cluster. Run another worker for this one"
    kind, validator = _OVERRIDES.get(name, ("STRING", None))
    try:
        value = parse_value(kind, text)
    except ValueError as error:
        return str(error)
    return validator(value) if validator else None


def group_id(name: str, config: Mapping[str, str | None] | Mapping[str, str]) -> str:
    """Consumer group of a sink, as Kafka Connect names it."""
    return (config.get(OVERRIDE + "group.id") or "").strip() or f"connect-{name}"


def consumer_overrides(parsed: Parsed) -> dict[str, str]:
    """Consumer settings, trimmed, without their prefix, without those that the worker sets itself and Java classes."""
    settled = {*_MANAGED_OVERRIDES, *_CLASS_OVERRIDES, "group.id", "auto.offset.reset"}
    return {name: text.strip() for name, text in parsed.members(OVERRIDE + "*").items() if name not in settled}


def auto_offset_reset(parsed: Parsed) -> Literal["earliest", "latest"]:
    """Start of a connector without a stored position; sinks start at the earliest offset."""
    reset = parsed.members(OVERRIDE + "*").get("auto.offset.reset", "earliest").strip()
    return "latest" if reset == "latest" else "earliest"
