"""The connectors: their states, logins and rights, stores and registries, and what retention is about to take."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.ranges import read_ranges
from frazil.clients.registry.client import RegistryClient
from frazil.clients.registry.schema import SchemaId
from frazil.connectors.connector import Connector, Standing, open_connector
from frazil.connectors.gathering import gathering
from frazil.connectors.keys.sink_config import part_envelope
from frazil.connectors.registry import connector_of, parsed_with
from frazil.doctor.finding import Finding, Look
from frazil.errors import ConfigError, FrazilError, NotFound, tells_ways_on
from frazil.pipeline.letters.queues import DLQ
from frazil.pipeline.offsets import TopicPartition
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.schemas.wire import Part

_HOUR_MS = 3_600_000
_LONG_MS = 600_000
"""Records that wait longer for others of their partition are told."""
_SHARE = 4
"""With less than a quarter of the retention left it is time to say so."""
_SHORT_S = 10.0
_OWN_WAYS = "one of the ways that it tells"
"""Cure for a failure whose reason has the steps."""
_PARTS: tuple[Part, ...] = ("key", "value")


def connectors(look: Look) -> Iterator[Finding]:
    """All connectors of the worker, one after the other; what one raises is a problem of that one.

    A service that does not answer is told once, not by each connector that needs it.
    """
    told: set[str] = set()
    for name, entry in sorted(look.connectors.items()):
        found = list(_of_one(look, name, entry))
        for one in found:
            if one.effect or one.what not in told:
                yield one
            told.add(one.what)
        if all(one.level == "ok" for one in found):
            yield Finding(f"connector {name}", "ok", f"it is {entry['status']['connector']['state']}")


def _of_one(look: Look, name: str, entry: Mapping[str, object]) -> Iterator[Finding]:
    part = f"connector {name}"
    info, status = entry["info"], entry["status"]
    assert isinstance(info, Mapping) and isinstance(status, Mapping)  # noqa: S101 - as the REST API has them
    state, checked = _state(part, status), list(_checked(part, look, name, info))
    if state is not None and state.level == "problem":
        same = [one for one in checked if one.what in state.what]
        cure = next((one.cure for one in same if one.cure), state.cure)
        then = "" if cure == _OWN_WAYS else f", then `restart connector {name}`"
        state = replace(state, cure=cure + then)
        checked = [one for one in checked if one not in same]
    yield from checked if state is None else (state, *checked)


def _checked(part: str, look: Look, name: str, info: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings about its configuration and what it needs, whatever its state."""
    config = {str(key): str(value) for key, value in info["config"].items()}
    try:
        if connector_of(config).type != "sink":
            return
    except ConfigError:
        return  # of Kafka Connect's runtime, which says what it needs
    try:
        opened = open_connector(name, config, look.settings, look.providers)
    except FrazilError as error:
        yield Finding(part, "problem", str(error), "it does not start", "correct its configuration: `validate`")
        return
    standing = Standing.of(name, config, look.settings.bootstrap_servers, look.providers)
    for check in (_topics, _store, _registry):
        try:
            with opened.hiding():
                yield from check(part, look, opened, standing)
        except FrazilError as error:
            yield Finding(part, "problem", str(error))


def _state(part: str, status: Mapping[str, object]) -> Finding | None:
    """A state that it should not be in."""
    connector, tasks = status["connector"], status["tasks"]
    assert isinstance(connector, Mapping) and isinstance(tasks, Sequence)  # noqa: S101 - as the REST API has them
    parts = [connector, *tasks]
    trace = next((str(one["trace"]).partition("\n")[0] for one in parts if one.get("trace")), "no reason is told")
    states = {str(one["state"]) for one in parts}
    if "FAILED" in states:
        cure = _OWN_WAYS if tells_ways_on(trace) else "correct the cause"
        return Finding(part, "problem", f"it is FAILED: {trace}", "it stores nothing", cure)
    if "RESTARTING" in states:
        what = f"it is RESTARTING: {trace}"
        return Finding(part, "warning", what, "it stores nothing until then", "it goes on by itself")
    return None


def _topics(part: str, look: Look, opened: Connector, standing: Standing) -> Iterator[Finding]:
    """Topics: whether they are there, the rights on them, and what Kafka deletes of them."""
    existing = kafka_topics.topics(standing.cluster)
    topics = standing.known_topics(existing)
    there = [topic for topic in topics if topic in existing]
    for topic in [topic for topic in topics if topic not in there]:
        yield Finding(part, "problem", f"topic {topic} does not exist", "it reads nothing", f"`topics create {topic}`")
    letters = opened.resolved.config.get(DLQ + "topic.name", "").strip()
    writes = {letters: "WRITE"} if letters in existing else {}
    yield from _rights(part, standing, dict.fromkeys(there, "READ") | writes)
    kafka_groups.group_offsets(standing.cluster, standing.group, [(topic, 0) for topic in there])
    running = look.connectors[opened.name]["status"]["connector"]["state"] == "RUNNING"
    yield from _unread(part, opened.resolved.config if running else {}, standing, there)


def _rights(part: str, standing: Standing, wanted: Mapping[str, str]) -> Iterator[Finding]:
    """Whether its login may read its topics, and write dead letters."""
    for topic, allowed in kafka_topics.allowed_operations(standing.cluster, list(wanted)).items():
        if wanted[topic] not in allowed:
            what = "read" if wanted[topic] == "READ" else "write dead letters to"
            yield Finding(
                part,
                "problem",
                f"its login may not {what} {topic}",
                "it fails when it gets there",
                f"allow {wanted[topic]} on the topic in the cluster's ACLs",
            )


def _unread(part: str, config: Mapping[str, str], standing: Standing, topics: Sequence[str]) -> Iterator[Finding]:
    """Whether Kafka has deleted, or will soon, what was not read, and whether records wait for others.

    `config` is that of a connector that runs, else empty.
    """
    begin, end = (read(standing.cluster, topics) for read in (kafka_offsets.begin_offsets, kafka_offsets.end_offsets))
    reached = kafka_groups.group_offsets(standing.cluster, standing.group, end)
    for (topic, number), position in sorted(reached.items()):
        first = begin[topic, number]
        if position < first:
            yield Finding(
                part,
                "problem",
                f"{first - position:,} records of {topic}-{number} were deleted before they were read",
                "they are lost; it fails with PositionLost when it starts again",
                f"set its position to {first} (`offsets set`), or give it a new name",
            )
    behind = {key: offset for key, offset in reached.items() if begin[key] <= offset < end[key]}
    settings = {topic: kafka_topics.topic_settings(standing.cluster, topic) for topic in {key[0] for key in behind}}
    ages = _ages(standing, behind, end)
    waiting = gathering(config, [end[key] - offset for key, offset in behind.items()])
    if waiting and max(ages.values(), default=0) > _LONG_MS:
        cure = "set rotate.schedule.interval.ms, if the records are missed"
        yield Finding(part, "warning", waiting, "nobody finds them in the store until then", cure)
    for key, age in ages.items():
        kept = settings[key[0]]
        limit = int(kept.get("retention.ms", "-1"))
        if limit < 0 or "delete" not in kept.get("cleanup.policy", "delete"):
            continue
        left = limit - age
        if left < limit // _SHARE:
            hours, records = max(left, 0) / _HOUR_MS, end[key] - behind[key]
            yield Finding(
                part,
                "warning",
                f"in {hours:,.1f} hours retention passes what is not read of {key[0]}-{key[1]}: it is {records:,} "
                "records behind",
                "records are lost then",
                f"find out why it is behind, or raise retention.ms of {key[0]} (now {limit / _HOUR_MS:,.0f} hours)",
            )


def _ages(
    standing: Standing, positions: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Age in milliseconds of the first record that is not read, by partition."""
    now = int(time.time() * 1000)
    stops = {key: min(offset + 1, end[key]) for key, offset in positions.items()}
    found: dict[TopicPartition, int] = {}
    for records in read_ranges(standing.cluster, positions, stops):
        first = records[0]
        found[first.topic() or "", first.partition() or 0] = now - first.timestamp()[1]
    return found


def _store(part: str, look: Look, opened: Connector, standing: Standing) -> Iterator[Finding]:
    """Whether catalog and store let it in, and what will make trouble in them."""
    yield from (Finding(part, "problem", text, "it does not start") for text in opened.sink.problems())
    for concern in opened.sink.concerns():
        yield Finding(part, "warning", concern.what, concern.effect, concern.cure)


def _registry(part: str, look: Look, opened: Connector, standing: Standing) -> Iterator[Finding]:
    """Whether the registries of its converters answer and take its login."""
    config = {**opened.resolved.config, "name": opened.name}
    parsed = parsed_with(config, look.settings)
    converters = [part_envelope(parsed, one) for one in _PARTS]
    for access in {one.access for one in converters if isinstance(one, RegistryConverter)}:
        client = RegistryClient(replace(access, connect_timeout=_SHORT_S, read_timeout=_SHORT_S))
        try:
            client.schema(SchemaId("id", 1))
        except NotFound:
            continue  # it has answered
    yield from ()
