"""Partitioners: the folder of a record, and its time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.config.rules import has_controls, leads_away
from frazil.connectors.objects.encoders import encoder
from frazil.connectors.objects.naming import MAX_NAME_BYTES, folder
from frazil.connectors.objects.records import Records, Schema
from frazil.connectors.objects.rotation import Numbers
from frazil.pipeline.convert.strict import ConversionError

_ROOM = 300
"""Bytes of a name that are not its folder's: topic, partition, offset and extension."""


@dataclass
class Folders:
    """Folders of one task, by number."""

    names: list[str] = field(default_factory=list)
    _codes: dict[str, int] = field(default_factory=dict)

    def code(self, name: str) -> int:
        """The number of a folder."""
        found = self._codes.get(name)
        if found is None:
            found = self._codes[name] = len(self.names)
            self.names.append(name)
        return found


@dataclass(frozen=True)
class Divided:
    """The folder of each record, -1 for those that failed; their times where the partitioner tells them.

    `failed` are the positions of records that have no folder, with the reason.
    """

    codes: Numbers
    times: Numbers | None
    failed: Sequence[tuple[int, ConversionError]] = ()


class Partitioner:
    """Divides records over folders; `schemas` are those that the records' numbers stand for."""

    def __init__(self, config: ObjectSinkConfig, folders: Folders, schemas: Sequence[Schema]) -> None:
        self._config = config
        self._folders = folders
        self._schemas = schemas
        self._encode = encoder(config.partitioning, config.layout.directory_delimiter, schemas)
        self._codes: dict[tuple[str, str, int], int | ConversionError] = {}

    def divide(self, records: Records, clock: Numbers | None = None) -> Divided:
        """The folders of the records; `clock` is what the clock said for each of them.

        Records without a value have a folder of their own, and Kafka's timestamp for their time.
        """
        encoded = self._encode(records, clock)
        choices, places, times = list(encoded.choices), encoded.places, encoded.times
        if records.texts.null_count:
            lost = records.tombstones
            places = np.where(lost, len(choices), places)
            choices.append(self._config.null_values.folder)
            times = None if times is None else np.where(lost, records.stamps, times)
        by_schema = records.schemas is not None and self._config.schema_affix != "NONE"
        if records.topics is None and not by_schema:
            found = [self._code(records.topic, choice, -1) for choice in choices]
        else:
            found, places = self._one_by_one(records, choices, places)
        codes = np.array([-1 if isinstance(one, ConversionError) else one for one in found], np.int64)[places]
        failed = [(int(index), found[places[index]]) for index in np.flatnonzero(codes < 0)]
        return Divided(codes, times, [(index, one) for index, one in failed if isinstance(one, ConversionError)])

    def _one_by_one(
        self, records: Records, choices: Sequence[str | ConversionError], places: Numbers
    ) -> tuple[list[int | ConversionError], Numbers]:
        """Folders of records that differ in topic or schema, and which one each record has."""
        numbers: dict[tuple[str, int, int], int] = {}
        found: list[int | ConversionError] = []
        result = np.zeros(len(records), np.int64)
        for index, place in enumerate(places.tolist()):
            topic = records.topic if records.topics is None else records.topics[index]
            schema = -1 if records.schemas is None else int(records.schemas[index])
            number = numbers.get((topic, schema, place))
            if number is None:
                number = numbers[topic, schema, place] = len(found)
                found.append(self._code(topic, choices[place], schema))
            result[index] = number
        return found, result

    def _code(self, topic: str, encoded: str | ConversionError, schema: int) -> int | ConversionError:
        if isinstance(encoded, ConversionError):
            return encoded
        affix = self._config.schema_affix
        key = topic, encoded, schema if affix != "NONE" else -1
        found = self._codes.get(key)
        if found is None:
            path = encoded
            if affix != "NONE":
                name = self._schemas[schema].name if schema >= 0 else None
                parts = [f"schema_name={name or 'null'}", encoded]
                path = self._config.layout.directory_delimiter.join(parts if affix == "PREFIX" else parts[::-1])
            whole = folder(self._config.layout, topic, path)
            if len(whole.encode()) + _ROOM > MAX_NAME_BYTES:
                found = ConversionError("", f"the folder of the record has a name of {len(whole)} characters, too long")
            elif leads_away(whole):
                found = ConversionError("", "the folder of the record has . or .. in its name, which leads elsewhere")
            elif has_controls(whole):
                found = ConversionError("", "the folder of the record has a control character, which stores refuse")
            else:
                found = self._folders.code(whole)
            self._codes[key] = found
        return found
