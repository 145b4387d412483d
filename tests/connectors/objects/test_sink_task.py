"""The driver of an object sink on a real broker: positions, limits, records that are read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.security import secured
from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.delta.schema import widened
from frazil.connectors.objects.formats.delta import TableColumns
from frazil.connectors.objects.known_topics import KnownTopics
from frazil.connectors.objects.results import ObjectsResult, StoredObject
from frazil.connectors.objects.schema_file import SchemaFile
from frazil.connectors.objects.sink_task import ObjectSinkTask, Table
from frazil.connectors.objects.task import ObjectsSpec, run
from frazil.connectors.sink import SinkContext
from frazil.connectors.source import task_source
from frazil.errors import BadRecord, PositionLost, ServiceUnavailable
from frazil.pipeline.convert import infer
from frazil.pipeline.letters.deadletter import DeadLetterQueue
from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.types import Struct, Type
from frazil.stack.local import LocalStack
from tests.connectors.objects.samples import FORMAT, FolderStore, sink_with
from tests.harness import eventually, messages, send
from tests.pipeline.kafka_rows import Row, chunks

pytestmark = pytest.mark.stack


class Recorder:
    """An executor that hands what tasks would read to a function."""

    parallelism = 1

    def __init__(self, read: Callable[[ObjectsSpec], ObjectsResult]) -> None:
        self.read = read

    def run(self, calls: Sequence[Any], what: str, records: int | None = None) -> list[Any]:
        return [self.read(call.spec) for call in calls]


class Driver:
    """A sink that reads its ranges from the broker by itself; what it stores is in a folder."""

    def __init__(self, bootstrap: str, topic: str, folder: Path, **changes: str) -> None:
        self.bootstrap, self.topic = bootstrap, topic
        self.store = FolderStore(str(folder))
        self.table: Table | None = None
        made = sink_with({name.replace("__", "."): value for name, value in changes.items()})
        self.config: ObjectSinkConfig = replace(made, topics=(topic,), name=topic, group_id=f"connect-{topic}")
        self.reports: list[BatchReport] = []
        self.runs: list[ObjectsSpec] = []
        self.now_ms = 0
        self.restart()

    def restart(self) -> None:
        queue = None
        if self.config.errors_tolerance == "all":
            queue = DeadLetterQueue(self.bootstrap, self.topic, "c", None, True)
            kafka_topics.ensure_topics(self.bootstrap, {f"{self.topic}-dlq": (1, {})})
        schema = None
        kept = FolderStore(f"{self.store.folder}/kept")
        if self.config.json_schema is not None:
            schema = SchemaFile(self.config.json_schema, "c.json", kept, self.topic)
        self.known = KnownTopics("topics.json", kept)
        self.executor = Recorder(self.run)
        self.sink = ObjectSinkTask(
            self.config,
            self.bootstrap,
            [self.topic],
            task_source(self.config, self.bootstrap, headers=True),
            queue,
            self.store,
            self.known,
            SinkContext(self.executor),
            schema,
            self.table,
        )

    def run(self, spec: ObjectsSpec) -> ObjectsResult:
        self.runs.append(spec)
        return run([part for rows in _chunks(self._rows(spec)) for part in chunks(rows)], spec)

    def _rows(self, spec: ObjectsSpec) -> Iterator[Row]:
        for (topic, partition), end in spec.end.items():
            begin = spec.begin[topic, partition]
            consumer = Consumer({**secured(self.bootstrap, "consumer"), "group.id": "x", "enable.auto.commit": False})
            consumer.assign([TopicPartition(topic, partition, begin)])
            waiting = end - begin
            while waiting:
                for message in consumer.consume(waiting, timeout=5):
                    if (message.offset() or 0) < end:
                        waiting -= 1
                        yield Row(message.offset() or 0, message.value(), 0, message.key(), (), partition, topic)
            consumer.close()

    def send(self, values: Iterable[bytes | None]) -> None:
        send(self.bootstrap, self.topic, values, partition=0)

    def process(self, wait_ms: int = 0) -> bool:
        self.now_ms += wait_ms
        return self.store_below(kafka_offsets.end_offsets(self.bootstrap, [self.topic]), self.now_ms)

    def store_below(self, ends: Offsets, now_ms: int) -> bool:
        due = self.sink.due(ends, now_ms)
        if due.ends:
            self.sink.step(due, self.reports.append)
        return bool(due.ends)

    def delete_topic(self) -> None:
        client = kafka_client.admin(self.bootstrap)
        client.delete_topics([self.topic], operation_timeout=20)[self.topic].result(20)
        eventually(lambda: self.topic not in kafka_topics.topics(self.bootstrap))

    def make_topic_again(self, values: Iterable[bytes | None]) -> None:
        """The topic without its old records; the broker forgets the positions of the old one in its own time."""
        self.delete_topic()
        eventually(lambda: not kafka_groups.all_group_offsets(self.bootstrap, self.config.group_id))
        kafka_topics.ensure_topics(self.bootstrap, {self.topic: (1, {})})
        self.send(values)

    def position(self) -> int:
        return kafka_groups.group_offsets(self.bootstrap, self.config.group_id, [(self.topic, 0)])[self.topic, 0]

    def first_offsets(self) -> list[int]:
        return sorted(int(name.rpartition("+")[2].partition(".")[0]) for name in self.store.objects())


def _chunks(rows: Iterator[Row]) -> Iterator[Sequence[Row]]:
    found = list(rows)
    for begin in range(0, len(found), 7):
        yield found[begin : begin + 7]


@pytest.fixture
def topic(stack: LocalStack, request: pytest.FixtureRequest) -> str:
    name = f"objects-{request.node.name.partition('[')[0].replace('_', '-')}"
    kafka_topics.ensure_topics(stack.settings.bootstrap_servers, {name: (1, {})})
    return name


def made(stack: LocalStack, topic: str, folder: Path, **changes: str) -> Driver:
    return Driver(stack.settings.bootstrap_servers, topic, folder, **changes)


def test_positions_move_with_objects_and_a_restart_goes_on_there(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path)
    assert (driver.process(), driver.position()) == (False, 0)
    driver.send([b"%d" % n for n in range(7)])
    assert driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 3], 6)
    assert [(report.read, report.stored, report.files) for report in driver.reports] == [(6, 6, 2)]
    assert not driver.process()
    driver.send([b"7"])
    assert not driver.process()
    driver.restart()
    driver.send([b"8"])
    assert driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 3, 6], 9)
    assert {key: end - driver.runs[-1].begin[key] for key, end in driver.runs[-1].end.items()} == {(topic, 0): 3}


def test_runs_are_limited_and_grow_when_nothing_is_complete(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path, flush__size="10", **{"frazil.batch.max.records": "4"})
    driver.send([b"%d" % n for n in range(25)])
    for _ in range(20):
        driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 10], 20)


def test_records_that_are_left_out_do_not_make_others_be_read_twice(
    stack: LocalStack, topic: str, tmp_path: Path
) -> None:
    more = {"frazil.batch.max.records": "60", "behavior.on.null.values": "ignore"}
    driver = made(stack, topic, tmp_path, flush__size="30", **more)
    driver.send([None if n % 10 == 5 else b"%d" % n for n in range(400)])
    while driver.process():
        pass
    assert driver.first_offsets() == [0, 33, 67, 100, 133, 167, 200, 233, 267, 300, 333, 367]
    read = sum(spec.end[topic, 0] - spec.begin[topic, 0] for spec in driver.runs)
    assert read < 520


def test_a_schedule_is_found_again_after_a_kill(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    changes = {"rotate.schedule.interval.ms": "1000", "timezone": "UTC", "flush.size": "100"}
    driver = made(stack, topic, tmp_path, **changes)
    driver.send([b"1", b"2", b"3"])
    driver.process(100)
    driver.send([b"4"])
    end = kafka_offsets.end_offsets(driver.bootstrap, [topic])

    def killed(spec: ObjectsSpec) -> ObjectsResult:
        driver.run(spec)
        raise ServiceUnavailable("killed")

    driver.executor.read = killed  # it ends behind its objects, before its position
    with pytest.raises(ServiceUnavailable):
        driver.store_below(end, 1500)
    before = driver.store.objects()
    assert driver.first_offsets() == [0]
    driver.send([b"5", b"6"])
    driver.restart()
    driver.process(60_000)
    assert {name: data for name, data in driver.store.objects().items() if name in before} == before
    assert (driver.first_offsets(), driver.position()) == ([0, 4], 6)


def test_dead_letters_are_written_once(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path, errors__tolerance="all")
    driver.send([b"1", b"{", b"2"])
    driver.process()
    driver.restart()
    driver.process()
    driver.send([b"3"])
    driver.process()
    assert [message.value() for message in messages(driver.bootstrap, f"{topic}-dlq")] == [b"{"]
    assert (driver.first_offsets(), driver.position()) == ([0], 4)
    assert [(report.read, report.stored, report.dead_letters) for report in driver.reports] == [(4, 3, 1)]


def test_records_that_no_file_can_have(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    changes = {
        "format.class": FORMAT + "parquet.ParquetFormat",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
        "errors.tolerance": "all",
        "flush.size": "2",
    }
    driver = made(stack, topic, tmp_path, **changes)
    text = b'{"schema":{"type":"struct","fields":[{"field":"i","type":"int32"}]},"payload":{"i":%d}}'
    driver.send([text % value for value in (1, 2, 3, 2**31, 5)])
    driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 2], 5)
    assert len(messages(driver.bootstrap, f"{topic}-dlq")) == 1


def test_a_bad_record_ends_the_connector(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path)
    driver.send([b"1", b"2", b"3", b"4", b"{", b"5"])
    with pytest.raises(BadRecord, match=f"topic {topic}, partition 0, offset 4: the value is not JSON"):
        driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0], 3)


def test_a_position_beyond_the_topic(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path)
    kafka_groups.set_group_offsets(driver.bootstrap, driver.config.group_id, {(topic, 0): 99})
    with pytest.raises(PositionLost, match="continues at offset 99"):
        driver.restart()


def test_a_topic_that_is_made_again(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path)
    text = kafka_groups.group_metadata(driver.bootstrap, driver.config.group_id, [(topic, 0)])[topic, 0]
    other = text.replace(kafka_topics.topic_ids(driver.bootstrap, [topic])[topic], "AAAAAAAAAAAAAAAAAAAAAA")
    kafka_groups.set_group_offsets(driver.bootstrap, driver.config.group_id, {(topic, 0): 0}, {(topic, 0): other})
    with pytest.raises(PositionLost, match="was deleted and made again"):
        driver.restart()


def test_a_topic_that_is_made_again_while_it_is_read(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path, format__class="frazil.DeltaFormat")
    table = driver.table = KeptTable()
    driver.restart()
    driver.send([b'{"a":1}'] * 3)
    while driver.process():
        pass
    commits, offsets = list(table.commits), dict(table.offsets)
    driver.make_topic_again([b'{"a":2}'] * 9)
    with pytest.raises(PositionLost, match=f"topic {topic} was deleted and made again since"):
        driver.process()
    assert (table.commits, table.offsets) == (commits, offsets)
    assert kafka_groups.all_group_offsets(driver.bootstrap, driver.config.group_id) == {}
    with pytest.raises(PositionLost, match=f"topic {topic} was deleted and made again since"):
        driver.restart()


def test_a_topic_that_is_deleted_while_it_is_read(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path)
    driver.send([b"%d" % n for n in range(6)])
    ends = kafka_offsets.end_offsets(driver.bootstrap, [topic])

    def then_deleted(spec: ObjectsSpec) -> ObjectsResult:
        result = driver.run(spec)
        driver.delete_topic()
        return result

    driver.executor.read = then_deleted  # the topic goes between its records and the position
    with pytest.raises(ServiceUnavailable, match="what was just read is not there any more"):
        driver.store_below(ends, 0)
    with pytest.raises(PositionLost, match=f"topic {topic} was deleted at"):
        driver.restart()


def test_a_topic_that_is_made_again_between_two_runs(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path)
    driver.send([b"%d" % n for n in range(6)])
    driver.process()
    before = driver.store.objects()
    driver.make_topic_again([b"1%d" % n for n in range(6)])
    with pytest.raises(PositionLost, match=r"move its objects away and reset its position"):
        driver.restart()
    assert driver.store.objects() == before
    driver.known.forget(None, {})
    driver.restart()
    driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 3], 6)
    assert driver.store.objects() != before


def test_a_topic_that_is_made_again_before_it_had_records(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path)
    assert not driver.process()
    driver.make_topic_again([b"1", b"2", b"3"])
    driver.restart()
    driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0], 3)


def test_a_schema_changes_between_runs_and_never_for_records_that_are_read_again(
    stack: LocalStack, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type":"integer","maximum":4}')
    driver = made(stack, topic, tmp_path, errors__tolerance="all", **{"frazil.schema.file": str(file)})
    driver.send([b"%d" % n for n in range(6)])
    driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0], 3)
    file.write_text('{"type":"integer","maximum":6}')
    driver.restart()
    driver.process()
    assert _maximum(driver) == 4
    driver.send([b"6", b"9"])
    driver.process()
    assert _maximum(driver) == 6
    lines = b"".join(data for name, data in sorted(driver.store.objects().items()) if "kept" not in name)
    assert (lines.split(), driver.position()) == ([b"0", b"1", b"2", b"3", b"4", b"6"], 7)
    assert [letter.value() for letter in messages(driver.bootstrap, f"{topic}-dlq")][0] == b"5"


def _maximum(driver: Driver) -> int:
    config = driver.runs[-1].config.json_schema
    assert config is not None
    return int(json.loads(config.text)["maximum"])


class KeptTable:
    """A table that keeps what it is told."""

    def __init__(self) -> None:
        self.columns = TableColumns(Struct(()), True)
        self.offsets: dict[tuple[str, int], int] = {}
        self.commits: list[list[int]] = []
        self.fails: Exception | None = None

    def start(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict(self.offsets)

    def evolve(self, unknown: Mapping[infer.Path, Type]) -> bool:
        before, self.columns = self.columns, TableColumns(widened(self.columns.struct, unknown), True)
        return before != self.columns

    def commit(self, objects: Sequence[StoredObject], reached: Mapping[tuple[str, int], int]) -> None:
        if self.fails is not None:
            raise self.fails
        self.commits.append([one.first for one in objects])
        self.offsets |= reached


def test_files_of_a_table_are_committed_before_the_position(stack: LocalStack, topic: str, tmp_path: Path) -> None:
    driver = made(stack, topic, tmp_path, format__class="frazil.DeltaFormat", errors__tolerance="all")
    table = driver.table = KeptTable()
    driver.restart()
    driver.send([b'{"a":1}', b'{"a":2}', b'{"a":3,"b":"x"}', b'{"a":4}', b'{"a":"no"}', b'{"a":5}', b'{"a":6}'])
    while driver.process():
        pass
    assert [field.name for field in table.columns.struct.fields] == ["a", "b"]
    assert (table.offsets, driver.position()) == ({(topic, 0): 7}, 7)
    assert [first for commit in table.commits for first in commit] == [0, 3]
    assert [letter.value() for letter in messages(driver.bootstrap, f"{topic}-dlq")] == [b'{"a":"no"}']
    driver.send([b'{"a":7}'] * 3)
    table.fails = ServiceUnavailable("no answer")
    with pytest.raises(ServiceUnavailable):
        driver.process()
    assert driver.position() == 7
    table.fails = None
    table.offsets[topic, 0] = 10  # it was committed after all
    driver.restart()
    assert not driver.process()
    assert driver.position() == 10
