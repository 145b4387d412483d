"""Records of the storage topics, in the form that Kafka Connect's own workers write and read.

Keys are text, values are JSON objects without a schema; an empty value removes the key. In the configuration topic
they are `connector-<name>` and `target-state-<name>` (and `logger-cluster-<logger>`, `session-key`), in the status
topic `status-connector-<name>`, `status-task-<name>-<n>` and `status-topic-<topic>:connector-<name>`. Others belong
to Kafka Connect's own tasks; they are passed over and left as they are. One kind is frazil's own, `worker-<worker id>`
in the status topic, which Kafka Connect passes over.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from frazil.engine.runner_api import State, TargetState
from frazil.worker.lifecycle.status import OwnStatus
from frazil.worker.watch.loggers import LEVELS

Record = tuple[str, bytes | None]
"""Key and value of a record; without a value it removes the key."""

_CONFIG, _TARGET, _LOGGER, _SESSION = "connector-", "target-state-", "logger-cluster-", "session-key"
_CONNECTOR_STATUS, _TASK_STATUS, _TOPIC_STATUS = "status-connector-", "status-task-", "status-topic-"
_OF_CONNECTOR = ":connector-"
_WORKER = "worker-"
_RUNNING = "STARTED"


class Malformed(ValueError):
    """A record that has the key of a known kind and a value that cannot be one; the text says why."""


@dataclass(frozen=True)
class ConfigRecord:
    """The configuration of a connector; `config` is None when it was deleted."""

    name: str
    config: Mapping[str, str] | None


@dataclass(frozen=True)
class TargetRecord:
    """The target state of a connector; `target` is None when the connector was deleted."""

    name: str
    target: TargetState | None


@dataclass(frozen=True)
class LoggerRecord:
    """The level of a logger on all workers; `level` is None when it was removed."""

    logger: str
    level: str | None


@dataclass(frozen=True)
class SessionRecord:
    """A key for the signatures of requests between workers, with Java's name of its algorithm."""

    key: bytes = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True)
class StatusRecord:
    """State of a connector, or of one of its tasks; `status` is None when it was removed."""

    name: str
    task: int | None
    status: OwnStatus | None


@dataclass(frozen=True)
class TopicRecord:
    """A topic that a connector has read; `active` is False when it was forgotten."""

    name: str
    topic: str
    active: bool


@dataclass(frozen=True)
class WorkerRecord:
    """URL of a worker, and the partitions of the offset topic that it has; `url` is None when it has left."""

    worker_id: str
    url: str | None
    slots: frozenset[int] = frozenset()


def config_record(name: str, config: Mapping[str, str] | None) -> Record:
    """The record of a configuration, or of its removal."""
    return _CONFIG + name, None if config is None else _json({"properties": dict(config)})


def connector_of_key(key: str) -> str:
    """The connector whose configuration or target state has this key; the key itself when it is of another kind."""
    return key.removeprefix(_CONFIG if key.startswith(_CONFIG) else _TARGET)


def target_record(name: str, target: TargetState | None) -> Record:
    """The record of a target state, or of its removal. Workers before Kafka 3.5 read STOPPED as PAUSED."""
    if target is None:
        return _TARGET + name, None
    old = {"RUNNING": _RUNNING, "STOPPED": "PAUSED"}.get(target, target)
    return _TARGET + name, _json({"state": old, "state.v2": _RUNNING if target == "RUNNING" else target})


def logger_record(logger: str, level: str) -> Record:
    """The record of a logger's level on all workers."""
    return _LOGGER + logger, _json({"level": level})


def session_record(session: SessionRecord) -> Record:
    """The record of a key for signatures."""
    key = base64.b64encode(session.key).decode()
    return _SESSION, _json({"key": key, "algorithm": session.algorithm, "creation-timestamp": session.created_ms})


def status_record(name: str, task: int | None, status: OwnStatus | None, version: str) -> Record:
    """The record of a connector's state, of a task's with its number, or of the removal of either."""
    key = _CONNECTOR_STATUS + name if task is None else f"{_TASK_STATUS}{name}-{task}"
    if status is None:
        return key, None
    body = {"state": status.state, "trace": status.trace, "worker_id": status.worker_id}
    return key, _json({**body, "generation": 0, "version": version})


def topic_record(name: str, topic: str, since_ms: int | None) -> Record:
    """The record of a topic that a connector reads, first seen at `since_ms`; None forgets it."""
    key = f"{_TOPIC_STATUS}{topic}{_OF_CONNECTOR}{name}"
    if since_ms is None:
        return key, None
    return key, _json({"topic": {"name": topic, "connector": name, "task": 0, "discoverTimestamp": since_ms}})


def worker_record(worker: WorkerRecord) -> Record:
    """The record of a worker, or of its leaving."""
    value = None if worker.url is None else _json({"url": worker.url, "partitions": sorted(worker.slots)})
    return _WORKER + worker.worker_id, value


def parse_config(key: str, value: bytes | None) -> ConfigRecord | TargetRecord | LoggerRecord | SessionRecord | None:
    """A record of the configuration topic; None for kinds that only Kafka Connect uses. Raises Malformed."""
    if key.startswith(_CONFIG):
        return ConfigRecord(key.removeprefix(_CONFIG), None if value is None else _properties(value))
    if key.startswith(_TARGET):
        return TargetRecord(key.removeprefix(_TARGET), None if value is None else _target(value))
    if key.startswith(_LOGGER):
        return LoggerRecord(key.removeprefix(_LOGGER), None if value is None else _level(value))
    if key == _SESSION and value is not None:
        return _session(value)
    return None


def parse_status(key: str, value: bytes | None) -> StatusRecord | TopicRecord | WorkerRecord | None:
    """A record of the status topic; None for kinds that only Kafka Connect uses. Raises Malformed."""
    if key.startswith(_CONNECTOR_STATUS):
        return StatusRecord(key.removeprefix(_CONNECTOR_STATUS), None, None if value is None else _status(value))
    if key.startswith(_TASK_STATUS):
        name, dash, number = key.removeprefix(_TASK_STATUS).rpartition("-")
        if not dash or not (number.isascii() and number.isdigit()):
            raise Malformed("its key has no task number")
        return StatusRecord(name, int(number), None if value is None else _status(value))
    if key.startswith(_TOPIC_STATUS):
        # Names of topics have no colon, those of connectors may have anything.
        topic, mark, name = key.removeprefix(_TOPIC_STATUS).partition(_OF_CONNECTOR)
        if not mark:
            raise Malformed("its key has no connector")
        return TopicRecord(name, topic, value is not None)
    if key.startswith(_WORKER):
        return _worker(key.removeprefix(_WORKER), value)
    return None


def _worker(worker_id: str, value: bytes | None) -> WorkerRecord:
    if value is None:
        return WorkerRecord(worker_id, None)
    body = _object(value)
    slots = body.get("partitions")
    if not isinstance(slots, list) or not all(isinstance(slot, int) for slot in slots):
        raise Malformed("its partitions are no numbers")
    return WorkerRecord(worker_id, _text(body, "url"), frozenset(slots))


def _json(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _object(value: bytes) -> dict[str, object]:
    try:
        body = json.loads(value)
    except ValueError:
        raise Malformed("its value is not JSON") from None
    # A cluster whose internal converters write schemas has the object one level down.
    if isinstance(body, dict) and body.keys() == {"schema", "payload"}:
        body = body["payload"]
    if not isinstance(body, dict):
        raise Malformed("its value is not a JSON object")
    return body


def _text(body: Mapping[str, object], field: str) -> str:
    text = body.get(field)
    if not isinstance(text, str):
        raise Malformed(f"its field {field} is no text")
    return text


def _properties(value: bytes) -> dict[str, str]:
    properties = _object(value).get("properties")
    if not isinstance(properties, dict):
        raise Malformed("it has no properties")
    # A null is no value: Connect's own workers leave such keys out when they start a connector.
    found = {key: item for key, item in properties.items() if item is not None}
    if not all(isinstance(item, str) for item in found.values()):
        raise Malformed("a property is no text")
    return found


def _target(value: bytes) -> TargetState:
    body = _object(value)
    state = _text(body, "state.v2" if body.get("state.v2") is not None else "state")
    for target in get_args(TargetState):
        if state == (_RUNNING if target == "RUNNING" else target):
            return target  # type: ignore[no-any-return]
    raise Malformed("its state is none that a connector can have")


def _level(value: bytes) -> str:
    level = _text(_object(value), "level").upper()
    if level not in LEVELS:
        raise Malformed(f"there is no level {level}")
    return level


def _session(value: bytes) -> SessionRecord:
    body = _object(value)
    created_ms = body.get("creation-timestamp")
    if not isinstance(created_ms, int):
        raise Malformed("its time is no number")
    try:
        return SessionRecord(base64.b64decode(_text(body, "key")), _text(body, "algorithm"), created_ms)
    except binascii.Error:
        raise Malformed("its key is not base64") from None


def _status(value: bytes) -> OwnStatus:
    body = _object(value)
    trace = body.get("trace")
    for state in get_args(State):
        if body.get("state") == state:
            return OwnStatus(state, _text(body, "worker_id"), trace if isinstance(trace, str) else None)
    raise Malformed("its state is none that a connector can have")
