"""JSON schemas of bodies: those of Kafka Connect 4.3.1."""

from collections.abc import Mapping
from typing import Any, get_args

from frazil.declare.definition import Importance, Type, Width
from frazil.engine.runner_api import State
from frazil.worker.watch.loggers import LEVELS

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
FLAG: Json = {"type": "boolean"}
_OPTIONAL_TEXT: Json = {"type": ["string", "null"]}
_TASK_STATE = [state for state in get_args(State) if state != "STOPPED"]


def ref(name: str) -> Json:
    """A reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def _record(optional: Mapping[str, Json] | None = None, /, **fields: Json) -> Json:
    """An object with exactly these fields."""
    return {
        "type": "object",
        "properties": {**fields, **(optional or {})},
        "required": list(fields),
        "additionalProperties": False,
    }


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _map(values: Json) -> Json:
    return {"type": "object", "additionalProperties": values}


_SCALAR: Json = {"type": ["string", "number", "boolean"]}
_PARTITION = _record(kafka_topic=TEXT, kafka_partition=WHOLE)
_PLUGIN_TYPES = ["sink", "source", "converter", "header_converter", "transformation", "predicate"]
_KEY_TYPES = sorted(get_args(Type))

SCHEMAS: Mapping[str, Json] = {
    "Error": _record(error_code=WHOLE, message=TEXT),
    "Root": _record(version=TEXT, commit=TEXT, kafka_cluster_id=TEXT),
    "Health": _record(status={"enum": ["healthy", "starting", "unhealthy"]}, message=TEXT),
    "OpenApi": _record({"servers": _list({})}, openapi=TEXT, info=_map({}), paths=_map({}), components=_map({})),
    "Names": _list(TEXT),
    "Connectors": {
        "anyOf": [ref("Names"), _map(_record({"status": ref("Status"), "info": ref("ConnectorInfo")}))],
        "description": "Names; with `expand` an object with what was asked for by name.",
    },
    "NewConnector": _record(
        {"initial_state": {"enum": ["RUNNING", "PAUSED", "STOPPED", None]}}, name=TEXT, config=ref("SentConfig")
    ),
    "SentConfig": {**_map(_SCALAR), "description": "Numbers and booleans are kept as the text they were written in."},
    "ConfigPatch": {**_map({"type": [*_SCALAR["type"], "null"]}), "description": "null removes a key."},
    "Config": _map(TEXT),
    "ConnectorInfo": _record(
        name=TEXT, config=ref("Config"), tasks=_list(ref("TaskId")), type={"enum": ["sink", "source", "unknown"]}
    ),
    "TaskId": _record(connector=TEXT, task=WHOLE),
    "Status": _record(
        name=TEXT,
        connector=_record({"trace": TEXT}, state={"enum": list(get_args(State))}, worker_id=TEXT, version=TEXT),
        tasks=_list(ref("TaskStatus")),
        type={"enum": ["sink", "source", "unknown"]},
    ),
    "TaskStatus": _record(
        {"trace": TEXT}, id=WHOLE, state={"enum": _TASK_STATE}, worker_id=TEXT, version=_OPTIONAL_TEXT
    ),
    "Tasks": _list(_record(id=ref("TaskId"), config=ref("Config"))),
    "Topics": _map(_record(topics=ref("Names"))),
    "Offsets": _record(offsets=_list(_record(partition=_PARTITION, offset=_record(kafka_offset=WHOLE)))),
    "OffsetChanges": _record(
        offsets={
            **_list(
                _record(
                    {"offset": {"anyOf": [_record(kafka_offset={"type": ["integer", "string"]}), {"type": "null"}]}},
                    partition=_record(kafka_topic=TEXT, kafka_partition={"type": ["integer", "string"]}),
                )
            ),
            "minItems": 1,
            "description": "A missing or null offset forgets the position of the partition.",
        }
    ),
    "Message": _record(message=TEXT),
    "Plugins": _list(_record({"version": TEXT}, **{"class": TEXT}, type={"enum": _PLUGIN_TYPES})),
    "Keys": _list(ref("Key")),
    "Key": _record(
        name=TEXT,
        type={"enum": _KEY_TYPES},
        required=FLAG,
        default_value=_OPTIONAL_TEXT,
        importance={"enum": list(get_args(Importance))},
        documentation=TEXT,
        group=_OPTIONAL_TEXT,
        order_in_group=WHOLE,
        width={"enum": list(get_args(Width))},
        display_name=TEXT,
        dependents=ref("Names"),
    ),
    "Validation": _record(
        name=TEXT,
        error_count=WHOLE,
        groups=ref("Names"),
        configs=_list(
            _record(
                definition={"anyOf": [ref("Key"), {"type": "null"}]},
                value=_record(
                    name=TEXT, value=_OPTIONAL_TEXT, recommended_values=ref("Names"), errors=ref("Names"), visible=FLAG
                ),
            )
        ),
    ),
    "Events": _list(_record(at={"type": "number"}, kind=TEXT, message=TEXT, connector=TEXT, user=TEXT, client=TEXT)),
    "Loggers": _map(ref("LoggerLevel")),
    "LoggerLevel": _record(level={"enum": list(LEVELS)}, last_modified={"type": ["integer", "null"]}),
    "NewLevel": {
        "type": "object",
        "properties": {"level": {**TEXT, "description": f"One of {', '.join(LEVELS)}, in any case."}},
        "required": ["level"],
    },
}
