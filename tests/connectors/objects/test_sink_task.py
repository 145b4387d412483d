"""The driver of an object sink: positions, limits, records that are read again; each on a cluster in memory and on a
real broker, which tells whether the one in memory is like it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.objects.formats.delta import TableColumns
from frazil.connectors.objects.results import ObjectsResult, StoredObject
from frazil.connectors.objects.stored_positions import State
from frazil.connectors.objects.task import ObjectsTask
from frazil.connectors.positions import KafkaIdentity, Moves
from frazil.errors import BadRecord, ConfigError, Fenced, PartitionsAdded, PositionLost, ServiceUnavailable
from frazil.pipeline.convert.infer import widened
from frazil.pipeline.results import NewColumns
from frazil.pipeline.types import Struct
from tests.connectors.broker import Broker
from tests.connectors.objects.driver import Cluster, Driver, MemoryCluster, RealCluster
from tests.connectors.objects.samples import FORMAT, FolderStore


@pytest.fixture(params=["memory", pytest.param("stack", marks=pytest.mark.stack)])
def cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    if request.param == "memory":
        return MemoryCluster(Broker().install(monkeypatch))
    return RealCluster(request.getfixturevalue("stack").settings.bootstrap_servers)


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    name = f"objects-{request.node.name.partition('[')[0].replace('_', '-')}"
    cluster.make(name)
    return name


def test_positions_move_with_objects_and_a_restart_goes_on_there(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    assert (driver.process(), driver.position()) == (False, 0)
    driver.send([b"%d" % n for n in range(7)])
    assert driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 3], 6)
    assert [(report.read, report.stored, report.files) for report in driver.reports] == [(6, 6, 2)]
    assert list(driver.reports[0].newest) == [topic]
    assert not driver.process()
    driver.send([b"7"])
    assert not driver.process()
    driver.restart()
    driver.send([b"8"])
    assert driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 3, 6], 9)
    assert {key: end - driver.runs[-1].begin[key] for key, end in driver.runs[-1].end.items()} == {(topic, 0): 3}


def test_runs_are_limited_and_grow_when_nothing_is_complete(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path, flush__size="10", **{"frazil.batch.max.records": "4"})
    driver.send([b"%d" % n for n in range(25)])
    for _ in range(20):
        driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 10], 20)


def test_records_that_are_left_out_do_not_make_others_be_read_twice(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    more = {"frazil.batch.max.records": "60", "behavior.on.null.values": "ignore"}
    driver = Driver(cluster, topic, tmp_path, flush__size="30", **more)
    driver.send([None if n % 10 == 5 else b"%d" % n for n in range(400)])
    while driver.process():
        pass
    assert driver.first_offsets() == [0, 33, 67, 100, 133, 167, 200, 233, 267, 300, 333, 367]
    read = sum(spec.end[topic, 0] - spec.begin[topic, 0] for spec in driver.runs)
    assert read < 520


def test_a_schedule_is_found_again_after_a_kill(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    changes = {"rotate.schedule.interval.ms": "1000", "timezone": "UTC", "flush.size": "100"}
    driver = Driver(cluster, topic, tmp_path, **changes)
    driver.send([b"1", b"2", b"3"])
    driver.process(100)
    driver.send([b"4"])
    end = kafka_offsets.end_offsets(driver.bootstrap, [topic])

    def killed(task: ObjectsTask) -> ObjectsResult:
        driver.run(task)
        raise ServiceUnavailable("killed")

    driver.executor.run_task = killed  # it ends behind its objects, before its position
    with pytest.raises(ServiceUnavailable):
        driver.store_below(end, 1500)
    before = driver.store.objects()
    assert driver.first_offsets() == [0]
    driver.send([b"5", b"6"])
    driver.restart()
    driver.process(60_000)
    assert {name: data for name, data in driver.store.objects().items() if name in before} == before
    assert (driver.first_offsets(), driver.position()) == ([0, 4], 6)


def test_dead_letters_are_written_once(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path, errors__tolerance="all")
    driver.send([b"1", b"{", b"2"])
    driver.process()
    driver.restart()
    driver.process()
    driver.send([b"3"])
    driver.process()
    assert [message.value() for message in cluster.messages(f"{topic}-dlq")] == [b"{"]
    assert (driver.first_offsets(), driver.position()) == ([0], 4)
    assert [(report.read, report.stored, report.dead_letters) for report in driver.reports] == [(4, 3, 1)]
    assert driver.runs[-1].letters == {(topic, 0): {1}}
    driver.send([b"4", b"5", b"6"])
    driver.process()
    assert driver.runs[-1].letters == {}, "its record is not read again"


def test_records_that_no_file_can_have(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    changes = {
        "format.class": FORMAT + "parquet.ParquetFormat",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
        "errors.tolerance": "all",
        "flush.size": "2",
    }
    driver = Driver(cluster, topic, tmp_path, **changes)
    text = b'{"schema":{"type":"struct","fields":[{"field":"i","type":"int32"}]},"payload":{"i":%d}}'
    driver.send([text % value for value in (1, 2, 3, 2**31, 5)])
    driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 2], 5)
    assert len(cluster.messages(f"{topic}-dlq")) == 1


def test_a_bad_record_ends_the_connector(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    driver.send([b"1", b"2", b"3", b"4", b"{", b"5"])
    with pytest.raises(BadRecord, match=f"topic {topic}, partition 0, offset 4: the value is not JSON"):
        driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0], 3)


def test_a_position_beyond_the_topic(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    kafka_groups.set_group_offsets(driver.bootstrap, driver.config.group_id, {(topic, 0): 99})
    with pytest.raises(PositionLost, match="continues at offset 99"):
        driver.restart()


def test_a_topic_that_is_made_again(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    text = kafka_groups.group_metadata(driver.bootstrap, driver.config.group_id, [(topic, 0)])[topic, 0]
    other = text.replace(kafka_topics.topic_ids(driver.bootstrap, [topic])[topic], "AAAAAAAAAAAAAAAAAAAAAA")
    kafka_groups.set_group_offsets(driver.bootstrap, driver.config.group_id, {(topic, 0): 0}, {(topic, 0): other})
    with pytest.raises(PositionLost, match="was deleted and made again"):
        driver.restart()


def test_a_topic_that_is_made_again_while_it_is_read(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path, format__class="frazil.DeltaFormat")
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


def test_a_topic_that_is_deleted_while_it_is_read(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    driver.send([b"%d" % n for n in range(6)])
    ends = kafka_offsets.end_offsets(driver.bootstrap, [topic])

    def then_deleted(task: ObjectsTask) -> ObjectsResult:
        result = driver.run(task)
        cluster.delete(topic)
        return result

    driver.executor.run_task = then_deleted  # the topic goes between its records and the position
    with pytest.raises(ServiceUnavailable, match="what was just read is not there any more"):
        driver.store_below(ends, 0)
    with pytest.raises(PositionLost, match=f"topic {topic} was deleted at"):
        driver.restart()


def test_a_topic_that_is_made_again_between_two_runs(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    driver.send([b"%d" % n for n in range(6)])
    driver.process()
    before = driver.store.objects()
    driver.make_topic_again([b"1%d" % n for n in range(6)])
    with pytest.raises(PositionLost, match=r"move its objects away and reset its position"):
        driver.restart()
    assert driver.store.objects() == before
    driver.stored.keep(State())
    driver.restart()
    driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 3], 6)
    assert driver.store.objects() != before


def test_a_topic_that_is_made_again_before_it_had_records(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    assert not driver.process()
    driver.make_topic_again([b"1", b"2", b"3"])
    driver.restart()
    driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0], 3)


def test_a_schema_changes_between_runs_and_never_for_records_that_are_read_again(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type":"integer","maximum":4}')
    driver = Driver(cluster, topic, tmp_path, errors__tolerance="all", **{"frazil.schema.file": str(file)})
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
    assert [letter.value() for letter in cluster.messages(f"{topic}-dlq")][0] == b"5"


def test_what_kafka_has_forgotten_is_known_beside_the_objects(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    changes = {"consumer.override.auto.offset.reset": "latest"}
    driver = Driver(cluster, topic, tmp_path, **changes)
    driver.send([b"%d" % n for n in range(4)])
    driver.process()
    kafka_groups.forget_group_offsets(driver.bootstrap, driver.config.group_id)
    driver.send([b"4", b"5"])
    driver.restart()
    assert driver.position() == 3
    driver.process()
    assert (driver.first_offsets(), driver.position()) == ([0, 3], 6)


def test_a_position_that_nobody_knows_is_not_replaced(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    """As after an upgrade from a release that kept the position in the group alone."""
    driver = Driver(cluster, topic, tmp_path)
    driver.send([b"%d" % n for n in range(4)])
    driver.process()
    kafka_groups.forget_group_offsets(driver.bootstrap, driver.config.group_id)
    ids = kafka_topics.topic_ids(driver.bootstrap, [topic])
    driver.stored.keep(State(topics=ids))
    with pytest.raises(PositionLost, match=rf"has read topic {topic}, .*frazil offsets set {topic} {topic}:0=…"):
        driver.restart()
    assert kafka_groups.all_group_offsets(driver.bootstrap, driver.config.group_id) == {}
    driver.stored.keep(State(topics=ids).altered(Moves({(topic, 0): 3}, frozenset(), KafkaIdentity()), keeps_ids=True))
    driver.restart()
    assert driver.position() == 3


def test_a_position_of_an_earlier_release_counts_with_its_notes(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    changes = {"rotate.schedule.interval.ms": "1000", "timezone": "UTC", "flush.size": "100"}
    driver = Driver(cluster, topic, tmp_path, **changes)
    driver.send([b"%d" % n for n in range(5)])
    driver.stored.keep(State())
    text = '{"frazil":1,"at":5,"ticks":[[0,100],[2,2000,true]]}'
    kafka_groups.set_group_offsets(driver.bootstrap, driver.config.group_id, {(topic, 0): 0}, {(topic, 0): text})
    driver.restart()
    assert driver.process()
    assert driver.first_offsets() == [0]
    assert driver.position() == 2


def test_what_another_program_commits_for_the_group_counts(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    driver.send([b"%d" % n for n in range(9)])
    driver.process()
    kafka_groups.set_group_offsets(driver.bootstrap, driver.config.group_id, {(topic, 0): 3})
    driver.restart()
    assert driver.sink.position == {(topic, 0): 3}


def test_a_worker_that_was_replaced_moves_nothing(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path, errors__tolerance="all")
    driver.send([b"%d" % n for n in range(6)])
    ends = kafka_offsets.end_offsets(driver.bootstrap, [topic])
    paused, run = driver.sink, driver.executor

    def replaced(task: ObjectsTask) -> ObjectsResult:
        """The worker stands still behind its objects, while another one goes on."""
        result = driver.run(task)
        driver.restart()
        driver.send([b"6", b"{", b"7", b"8"])
        while driver.process():
            pass
        return result

    run.run_task = replaced
    with pytest.raises(Fenced, match=f"another worker has taken over connector {topic}"):
        paused.step(paused.due(ends, 0), driver.reports.append)
    assert driver.position() == 10
    with pytest.raises(Fenced):
        paused.step(paused.due(kafka_offsets.end_offsets(driver.bootstrap, [topic]), 0), driver.reports.append)
    assert driver.position() == 10
    assert [message.value() for message in cluster.messages(f"{topic}-dlq")] == [b"{"]


def test_a_group_that_a_replaced_worker_has_moved_back_is_put_right(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    driver = Driver(cluster, topic, tmp_path)
    driver.send([b"%d" % n for n in range(3)])
    text = kafka_groups.group_metadata(driver.bootstrap, driver.config.group_id, [(topic, 0)])
    driver.process()
    kafka_groups.set_group_offsets(driver.bootstrap, driver.config.group_id, {(topic, 0): 0}, text)
    driver.restart()
    assert (driver.sink.position, driver.position()) == ({(topic, 0): 3}, 3)


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

    def evolve(self, unknown: NewColumns) -> bool:
        before, self.columns = self.columns, TableColumns(widened(self.columns.struct, unknown.fields), True)
        return before != self.columns

    def commit(self, objects: Sequence[StoredObject], reached: Mapping[tuple[str, int], int]) -> None:
        if self.fails is not None:
            raise self.fails
        self.commits.append([one.first for one in objects])
        self.offsets |= reached


def test_a_table_needs_a_store_with_conditional_puts(
    cluster: Cluster, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(cluster, topic, tmp_path, format__class="frazil.DeltaFormat")
    monkeypatch.setattr(FolderStore, "keeps_conditions", lambda *_: False)
    driver.restart()
    driver.table = KeptTable()
    with pytest.raises(ConfigError, match=r"ignores the condition of a put .* or another format.class"):
        driver.restart()


def test_a_refused_record_in_each_object_costs_no_run_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker().install(monkeypatch)
    broker.make("t")
    keys = {"format.class": FORMAT + "parquet.ParquetFormat", "flush.size": "10", "errors.tolerance": "all"}
    made: list[dict[str, bytes]] = []
    for name, most in (("at once", "1000000"), ("again and again", "300")):
        driver = Driver(MemoryCluster(broker), "t", tmp_path / name, **keys, **{"frazil.batch.max.records": most})
        if not made:
            numbers = ("9007199254740993" if n % 11 == 5 else "1.5" for n in range(550))
            driver.send([b'{"id":%d,"a":%s}' % (n, number.encode()) for n, number in enumerate(numbers)])
            driver.process()
            assert len(driver.runs) == 1
            assert broker.letters("t-dlq").keys() == {("t", 0, n, "") for n in range(5, 550, 11)}
        idle = 0
        while idle < 3:
            idle += 1
            if driver.process(60_000) and driver.moved():
                driver.restart()
                idle = 0
        assert driver.sink.position == {("t", 0): 550}
        made.append(driver.store.objects())
        broker.groups.clear()
        assert len(broker.records("t-dlq")) == 50 * len(made), "what has a dead letter is left out again"
    assert len(made[0]) == 50
    assert made[0] == made[1]


def test_files_of_a_table_are_committed_before_the_position(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path, format__class="frazil.DeltaFormat", errors__tolerance="all")
    table = driver.table = KeptTable()
    driver.restart()
    driver.send([b'{"a":1}', b'{"a":2}', b'{"a":3,"b":"x"}', b'{"a":4}', b'{"a":"no"}', b'{"a":5}', b'{"a":6}'])
    driver.process()
    assert len(driver.runs) == 2, "what new columns have held up is read again at once"
    while driver.process():
        pass
    assert [field.name for field in table.columns.struct.fields] == ["a", "b"]
    assert (table.offsets, driver.position()) == ({(topic, 0): 7}, 7)
    assert [first for commit in table.commits for first in commit] == [0, 3]
    assert [letter.value() for letter in cluster.messages(f"{topic}-dlq")] == [b'{"a":"no"}']
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


def test_new_partitions_and_topics_make_the_connector_start_again(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    driver = Driver(cluster, topic, tmp_path)
    for key, told in (((topic, 1), f"topic {topic} has more partitions"), (("another", 0), "topic another is new")):
        with pytest.raises(PartitionsAdded, match=told):
            driver.sink.due({(topic, 0): 0, key: 0}, 0)
