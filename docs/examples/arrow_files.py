"""A sink that writes Arrow IPC files: one for each batch and partition, named by its offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka.ranges import Range
from frazil.connectors.keys.framework import check_sink
from frazil.connectors.keys.sink_config import SinkConfig, sink_fields
from frazil.connectors.keys.sink_definition import sink_definition
from frazil.connectors.plugin import ConnectorPlugin
from frazil.connectors.positions import Changes, alter_group, check_changes, check_range
from frazil.connectors.sink import CommitInterval, Due, Sink, SinkContext, SinkTask
from frazil.connectors.source import task_source
from frazil.declare.definition import ConfigDef, Key, Parsed
from frazil.environment.bootstrap import Bootstrap
from frazil.environment.settings import Settings
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.source import Source, check_progress, described, ranges_between

KEYS = (
    Key("arrow.folder", "STRING", "Folder that the files go to, for every worker the same.", importance="HIGH"),
    Key("arrow.interval.ms", "LONG", "Longest time that records wait for a file.", default=10_000),
)
SCHEMA = pa.schema([("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])
_MOST_RECORDS = 500_000


@dataclass(frozen=True, kw_only=True)
class ArrowConfig(SinkConfig):
    """What every sink has, and two keys of this one."""

    folder: Path
    interval_ms: int


def definition(config: Mapping[str, str | None]) -> ConfigDef:
    """The keys of every sink, those of its transforms and converters, and our own."""
    return sink_definition(config, KEYS)


def parse(config: Mapping[str, str | None]) -> Parsed:
    """The values, with all errors and warnings."""
    parsed = definition(config).parse(config)
    check_sink(parsed)
    return parsed


class ArrowSink(Sink):
    """A connector, opened. Nothing is read or written before `start`."""

    def __init__(self, config: Mapping[str, str], settings: Settings, cluster: Bootstrap) -> None:
        parsed = parse(config)
        folder, interval_ms = Path(parsed.text("arrow.folder")), parsed.number("arrow.interval.ms")
        self._config = ArrowConfig(**sink_fields(parsed), folder=folder, interval_ms=interval_ms)
        self._cluster = cluster

    @property
    def config(self) -> ArrowConfig:
        return self._config

    def start(self, context: SinkContext, topics: Sequence[str]) -> ArrowTask:
        return ArrowTask(self._config, self._cluster, topics, context)

    def alter(self, changes: Changes | None) -> list[str]:
        remarks: list[str] = []
        moves = None if changes is None else check_changes(self._cluster, changes, remarks)
        alter_group(self._cluster, self._config.group_id, moves)
        return remarks


class ArrowTask(SinkTask):
    """The running sink: its consumer group says what is stored, and files behind that are leftovers."""

    def __init__(self, config: ArrowConfig, cluster: Bootstrap, topics: Sequence[str], context: SinkContext) -> None:
        self._config = config
        self._cluster = cluster
        self._executor = context.executor
        self._source = task_source(config, cluster, headers=False)
        self._interval = CommitInterval(0 if context.at_once else config.interval_ms, _MOST_RECORDS)
        begin, end = kafka_offsets.begin_offsets(cluster, topics), kafka_offsets.end_offsets(cluster, topics)
        self._position: Offsets = begin | kafka_groups.group_offsets(cluster, config.group_id, begin)
        for key, offset in self._position.items():
            check_range(key, offset, begin[key], end[key], f"consumer group {config.group_id}")
            for file in config.folder.glob(f"{key[0]}+{key[1]}+*.arrow"):
                if int(file.stem.split("+")[2]) >= offset:
                    file.unlink()

    @property
    def position(self) -> Offsets:
        return self._position

    def due(self, ends: Offsets, now_ms: int) -> Due:
        check_progress(self._position, ends)
        return self._interval.due(self._position, ends, now_ms)

    def step(self, due: Due, committed: Callable[[BatchReport], None]) -> None:
        self._interval.began()
        ranges = ranges_between(self._position, due.ends)
        calls = [WriteFile(self._source, one, self._config.folder) for one in ranges]
        written = self._executor.run(calls, described(ranges), sum(map(len, ranges)))
        kafka_groups.set_group_offsets(self._cluster, self._config.group_id, due.ends)  # the files are durable now
        self._position = due.ends
        rows = sum(written)
        place = (str(self._config.folder),)
        report = BatchReport(self._config.name, rows, rows, 0, 0, len(calls), 0, 0, 0, 0, places=place)
        committed(report)


@dataclass(frozen=True)
class WriteFile:
    """What one task does, on any executor: the records of a range into a file, which another try writes again."""

    source: Source
    range: Range
    folder: Path

    def __call__(self) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        one = self.range
        path = self.folder / f"{one.topic}+{one.partition}+{one.begin}+{one.end}.arrow"
        draft, count = path.with_suffix(".draft"), 0
        with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
            for rows in self.source.read([one]):
                columns = [pa.array(rows.offsets), pa.array(rows.stamps), rows.keys, rows.values]
                arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
                writer.write_batch(pa.record_batch(arrays, SCHEMA))
                count += len(rows)
        draft.replace(path)
        return count


PLUGIN = ConnectorPlugin("example.ArrowFilesConnector", definition, parse, ArrowSink)
