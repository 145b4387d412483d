"""Offsets of a connector: show, move, forget."""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from frazil.connectors.positions import Changes
from frazil.errors import ConfigError
from frazil.worker.rest.http import Operation, Resource, herder_of
from frazil.worker.rest.info import info_of
from frazil.worker.rest.paths import name_of

_TOPIC, _PARTITION, _OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_REPEATS = "Records that are read again are stored again, so rows may repeat."


class Offsets(Resource):
    """Next offsets from the consumer group; PATCH moves and DELETE forgets them while the connector is STOPPED."""

    @Operation("Next offsets of the consumer group", {200: "Offsets"}, errors=(404,))
    def get(self, request: Request) -> Response:
        name = name_of(request)
        offsets = info_of(request).positions.of(name, herder_of(request).info(name).config)
        return JSONResponse(
            {
                "offsets": [
                    {"partition": {_TOPIC: topic, _PARTITION: partition}, "offset": {_OFFSET: offset}}
                    for (topic, partition), offset in sorted(offsets.items())
                ]
            }
        )

    @Operation(
        "Move the position of a STOPPED connector", {200: "Message"}, errors=(400, 404, 409), body="OffsetChanges"
    )
    def patch(self, request: Request, body: Any) -> Response:
        entries = _entries(body)
        name, positions = name_of(request), info_of(request).positions
        remarks = herder_of(request).while_stopped(
            name, lambda config: positions.alter(name, config, parse_changes(entries))
        )
        return _done("altered", remarks)

    @Operation("Forget the position of a STOPPED connector", {200: "Message"}, errors=(400, 404, 409))
    def delete(self, request: Request) -> Response:
        name, positions = name_of(request), info_of(request).positions
        remarks = herder_of(request).while_stopped(name, lambda config: positions.alter(name, config, None))
        return _done("reset", remarks)


def _done(verb: str, remarks: list[str]) -> Response:
    done = f"The offsets for this connector have been {verb} successfully."
    return JSONResponse({"message": " ".join([done, _REPEATS, *remarks])})


def _entries(body: Any) -> list[Any]:
    if not isinstance(body, dict):
        raise ConfigError("The request body is not a JSON object with the field offsets.")
    unknown = sorted(set(body) - {"offsets"})
    if unknown:
        raise ConfigError(f'Unrecognized field "{unknown[0]}"; the only field is offsets.')
    entries = body.get("offsets")
    if entries is not None and not isinstance(entries, list):
        raise ConfigError("The field offsets is not an array of objects with the fields partition and offset.")
    if not entries:
        raise ConfigError("Partitions / offsets need to be provided for an alter offsets request")
    return entries


def parse_changes(entries: list[Any]) -> Changes:
    """The changes that a PATCH asks for; raises ConfigError with Connect's texts."""
    changes: dict[tuple[str, int], int | None] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            raise ConfigError("An entry of offsets is not an object with the fields partition and offset.")
        key, offset = _partition(entry.get("partition")), _offset(entry.get("offset"))
        if key in changes:
            raise ConfigError(f"The partition {key[0]}-{key[1]} is given more than once.")
        changes[key] = offset
    return changes


def _partition(partition: Any) -> tuple[str, int]:
    if partition is None:
        raise ConfigError("The partition for a sink connector offset cannot be null or missing")
    if not isinstance(partition, dict) or _TOPIC not in partition or _PARTITION not in partition:
        raise ConfigError(
            f"The partition for a sink connector offset must contain the keys '{_TOPIC}' and '{_PARTITION}'"
        )
    topic = partition[_TOPIC]
    if not isinstance(topic, str) or not topic:
        raise ConfigError("Kafka topic names must be valid strings and may not be null")
    if partition[_PARTITION] is None:
        raise ConfigError("Kafka partitions must be valid numbers and may not be null")
    return topic, _integer(partition[_PARTITION], "partition")


def _offset(offset: Any) -> int | None:
    if offset is None:
        return None
    if not isinstance(offset, dict) or _OFFSET not in offset:
        raise ConfigError(f"The offset for a sink connector should either be null or contain the key '{_OFFSET}'")
    return _integer(offset[_OFFSET], "offset")


def _integer(value: Any, what: str) -> int:
    """A whole number, which `parse_json` leaves as the text that it was written in; raises ConfigError."""
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        shown = "null" if value is None else value
        raise ConfigError(
            f"Failed to parse the following Kafka {what} value in the provided offsets: '{shown}'. "
            f"{what.capitalize()} values for sink connectors need to be integers."
        )
    return int(value)
