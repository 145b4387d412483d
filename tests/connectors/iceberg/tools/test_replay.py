from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DecimalType, LongType, NestedField, StringType

from frazil.clients.kafka import client as kafka_client
from frazil.clients.kafka import groups as kafka_groups
from frazil.clients.kafka import offsets as kafka_offsets
from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.iceberg.config.iceberg_sink import IcebergSinkConfig, iceberg_sink_config
from frazil.connectors.iceberg.table.commit import Commit, TableBranch
from frazil.connectors.iceberg.tools.replay import Routed, TableReplayer, routed
from frazil.connectors.iceberg.tools.replayed import DEADLETTERS, rows_stored
from frazil.connectors.positions import KafkaIdentity
from frazil.connectors.sink import Outcome
from frazil.errors import CommitConflict, CommitStateUnknown, ConfigError, NotFound, ServiceUnavailable
from frazil.pipeline.letters.deadletter import DeadLetter, DeadLetterQueue
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.letters.log import LetterLog, Queue
from frazil.pipeline.letters.ranges import by_partition
from frazil.stack.local import LocalStack
from tests.connectors.iceberg.conftest import MakeTable
from tests.connectors.iceberg.proxy import CatalogProxy, Fault
from tests.connectors.samples import MINIMAL_SINK
from tests.pipeline.test_task import batch
from tests.waits import PATIENCE_S, eventually

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("quick_retries")]

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "n", DecimalType(9, 0)),
    NestedField(3, "text", StringType()),
)
SOURCE = "records"
PASSED = 1000


class Bench:
    """A connector with one or more tables whose position is behind record 1000, and its dead letters."""

    def __init__(self, stack: LocalStack, tables: Sequence[Table]) -> None:
        self.settings = stack.settings
        self.tables = tables
        self.name = f"sink-{uuid.uuid4().hex[:8]}"
        self.queue = f"{self.name}-dlq"
        kafka_topics.ensure_topics(self.bootstrap, {self.queue: (2, {})})
        self.log = LetterLog(self.bootstrap)
        for table in tables:
            self.move_to(table, PASSED)

    @property
    def bootstrap(self) -> str:
        return self.settings.bootstrap_servers

    def move_to(self, table: Table, offset: int) -> None:
        target = TableBranch(table.catalog, name_of(table), "main")
        now = target.load()
        position = {(SOURCE, 0): offset}
        target.commit(
            now, target.floor(now, self.name), Commit(self.name, [], position, position, KafkaIdentity(), None)
        )

    def config(self, uri: str | None, more: Mapping[str, str]) -> IcebergSinkConfig:
        catalog = self.settings.catalog_properties() | ({"uri": uri} if uri else {})
        return iceberg_sink_config(
            {
                "name": self.name,
                "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
                "topics": SOURCE,
                "iceberg.tables": ",".join(map(name_of, self.tables)),
                "iceberg.tables.evolve-schema-enabled": "true",
                **{f"iceberg.catalog.{k}": v for k, v in catalog.items()},
                "value.converter": "org.apache.kafka.connect.json.JsonConverter",
                "value.converter.schemas.enable": "false",
                **more,
            }
        )

    def write(self, *values: object, first: int = 0, table: str = "", copies: int = 1) -> None:
        """A dead letter of each value, of records from offset `first` on."""
        sink = "org.apache.iceberg.connect.IcebergSinkConnector"
        queue = DeadLetterQueue(self.bootstrap, self.name, sink, self.queue, True)
        queue.write(
            [
                DeadLetter(SOURCE, 0, first + n, 0, None, json.dumps(value).encode(), (), "n", "too large", table=table)
                for n, value in enumerate(values)
                for _ in range(copies)
            ]
        )

    def open(self) -> tuple[list[Queue], list[Letter]]:
        queues = self.log.look([self.queue], lambda done, total: None)
        letters = list(self.log.letters(queues, None, lambda done, total: None))
        return queues, sorted(letters, key=lambda letter: letter.record or ("", 0, 0))

    def replay(
        self,
        more: Mapping[str, str] = MappingProxyType({}),
        *,
        mark: bool = True,
        dry_run: bool = False,
        uri: str | None = None,
    ) -> list[str]:
        """Replay all that is open; the verdicts in the order of the records."""
        queues, letters = self.open()
        outcomes = self.replayer(queues, more, dry_run=dry_run, uri=uri).replay(letters)
        if mark and not dry_run:
            self.log.close(queues, by_partition(o.letter.position for o in outcomes if o.closed), "replayed")
        self.reasons = [outcome.reason for outcome in outcomes]
        return [outcome.verdict for outcome in outcomes]

    def replayer(
        self,
        queues: Sequence[Queue],
        more: Mapping[str, str] = MappingProxyType({}),
        *,
        dry_run: bool = False,
        uri: str | None = None,
    ) -> TableReplayer:
        return TableReplayer(self.config(uri, more), self.bootstrap, queues, dry_run=dry_run)


def name_of(table: Table) -> str:
    return ".".join(table.name())


def ids(table: Table) -> list[int]:
    found: list[int] = table.refresh().scan().to_arrow()["id"].to_pylist()
    return sorted(found)


def snapshots(table: Table) -> int:
    return len(table.refresh().metadata.snapshots)


def widen(table: Table) -> None:
    with table.refresh().update_schema() as update:
        update.update_column("n", DecimalType(12, 0))


def big(number: int, **more: object) -> dict[str, object]:
    return {"id": number, "n": 2**31 + number, **more}


@pytest.fixture
def table(make_table: MakeTable) -> Table:
    return make_table(SCHEMA)


@pytest.fixture
def bench(stack: LocalStack, table: Table) -> Bench:
    return Bench(stack, [table])


def test_what_fits_now_is_stored_once_and_the_rest_stays_open(bench: Bench, table: Table) -> None:
    bench.write(big(0), {"id": 1, "n": "many"}, big(2))
    assert bench.replay() == ["fails"] * 3
    assert snapshots(table) == 1
    widen(table)
    assert bench.replay() == ["stored", "fails", "stored"]
    assert (
        bench.reasons[1]
        == 'column n: the text is not a decimal number as numbers are written for type decimal(12,0) ("many")'
    )
    assert ids(table) == [0, 2]
    assert [letter.record for letter in bench.open()[1]] == [(SOURCE, 0, 1)]
    before = snapshots(table)
    assert bench.replay() == ["fails"]
    assert snapshots(table) == before


def test_one_snapshot_has_the_rows_and_says_of_which_dead_letters(bench: Bench, table: Table) -> None:
    bench.write(*(big(n) for n in range(20)))
    widen(table)
    bench.replay()
    now = table.refresh()
    snapshot = now.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary["added-records"] == "20"
    assert snapshot.summary["frazil.connector"] == bench.name
    assert "frazil.offsets" not in snapshot.summary.additional_properties
    [entry] = json.loads(snapshot.summary[DEADLETTERS] or "")[bench.queue]
    assert entry["id"] == kafka_topics.topic_ids(bench.bootstrap, [bench.queue])[bench.queue]
    assert sum(len(list(map(int, text.split("-")))) > 0 for text in entry["offsets"].values()) >= 1
    target = TableBranch(table.catalog, name_of(table), "main")
    assert target.floor(now, bench.name).offsets == {(SOURCE, 0): PASSED}


def test_rows_whose_markers_are_missing_are_found_in_the_table(bench: Bench, table: Table) -> None:
    bench.write(big(0), big(1))
    widen(table)
    assert bench.replay(mark=False) == ["stored", "stored"]
    bench.write(big(2), first=2)
    assert bench.replay() == ["present", "present", "stored"]
    assert ids(table) == [0, 1, 2]
    assert bench.open()[1] == []


def test_they_are_found_when_their_snapshot_is_expired(bench: Bench, table: Table) -> None:
    bench.write(big(0), big(1))
    widen(table)
    bench.replay(mark=False)
    table.refresh().append(table.scan().to_arrow().slice(0, 0))
    bench.write(big(2), first=2)
    for snapshot in table.refresh().metadata.snapshots[:-1]:
        table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    assert bench.replay(mark=False) == ["present", "present", "stored"]
    for snapshot in table.refresh().metadata.snapshots[:-1]:
        table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
    assert bench.replay() == ["present"] * 3
    assert ids(table) == [0, 1, 2]
    assert rows_stored(TableBranch(table.catalog, name_of(table), "main"), table.refresh()) == 3


def test_the_copy_in_the_properties_forgets_what_is_closed(bench: Bench, table: Table) -> None:
    widen(table)
    for number in range(3):
        bench.write(big(number), first=number)
        assert bench.replay() == ["stored"]
    copy = json.loads(table.refresh().properties[f"{DEADLETTERS}.main"])
    assert len(copy[bench.queue]) == 1
    assert sum("," not in text and "-" not in text for text in copy[bench.queue][0]["offsets"].values()) == 1


def test_rows_that_were_rolled_back_are_stored_again(bench: Bench, table: Table) -> None:
    widen(table)
    before = table.refresh().current_snapshot()
    assert before is not None
    bench.write(big(0))
    bench.replay(mark=False)
    table.refresh().manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()
    assert bench.replay() == ["stored"]
    assert ids(table) == [0]


def test_a_topic_that_is_made_anew_has_other_dead_letters(bench: Bench, table: Table) -> None:
    widen(table)
    bench.write(big(0))
    bench.replay()
    admin = kafka_client.admin(bench.bootstrap)
    admin.delete_topics([bench.queue])[bench.queue].result(PATIENCE_S)
    while bench.queue in kafka_topics.topics(bench.bootstrap):
        pass
    kafka_topics.ensure_topics(bench.bootstrap, {bench.queue: (2, {})})
    bench.write(big(1), first=1)
    bench.write(big(2), first=2)
    assert bench.replay() == ["stored", "stored"]
    assert ids(table) == [0, 1, 2]


def test_two_dead_letters_of_one_record_are_one_row(bench: Bench, table: Table) -> None:
    widen(table)
    bench.write(big(0), copies=2)
    assert bench.replay() == ["stored", "stored"]
    assert ids(table) == [0]
    assert bench.open()[1] == []


def test_in_different_chunks_too(bench: Bench, table: Table) -> None:
    widen(table)
    bench.write(big(0), copies=2)
    queues, letters = bench.open()
    replayer = bench.replayer(queues)
    assert [replayer.replay([letter])[0].verdict for letter in letters] == ["stored", "present"]
    assert ids(table) == [0]


def test_a_record_that_the_connector_will_read_again_waits(bench: Bench, table: Table) -> None:
    """It was killed after it wrote the dead letter, before it committed: it stores the record by itself now."""
    widen(table)
    bench.write(big(0), first=PASSED - 1)
    bench.write(big(1), first=PASSED)
    assert bench.replay() == ["stored", "waits"]
    assert "has not read past the record yet" in bench.reasons[1]
    bench.move_to(table, PASSED + 1)
    assert bench.replay() == ["stored"]


def test_where_a_table_has_no_position_the_group_counts(bench: Bench, table: Table, stack: LocalStack) -> None:
    """Dead letters of Kafka Connect, whose connector goes on under its name."""
    source = f"source-{bench.name}"
    kafka_topics.ensure_topics(bench.bootstrap, {source: (1, {})})
    widen(table)
    bench.write(big(0))
    queues, letters = bench.open()
    mine = [replace(x, context={**x.context, "topic": source}) for x in letters]
    assert bench.replayer(queues).replay(mine)[0].verdict == "waits"
    kafka_groups.set_group_offsets(bench.bootstrap, f"connect-{bench.name}", {(source, 0): 1})
    assert bench.replayer(queues).replay(mine)[0].verdict == "stored"


def test_new_fields_become_columns(bench: Bench, table: Table) -> None:
    bench.write(big(0, extra={"a": 1}), {"id": 1, "n": "x", "other": 1})
    widen(table)
    assert bench.replay(dry_run=True) == ["stored", "fails"]
    assert (snapshots(table), "extra" in table.refresh().schema().column_names) == (1, False)
    assert bench.replay() == ["stored", "fails"]
    assert table.refresh().scan().to_arrow()["extra"].to_pylist() == [{"a": 1}]
    assert "other" not in table.schema().column_names


def test_too_many_new_fields_stay_refused(bench: Bench, table: Table) -> None:
    bench.write(big(0, **{f"f{n}": n for n in range(5)}), big(1))
    widen(table)
    limit = {"frazil.schema.max.new.columns": "3"}
    for dry_run in (True, False):
        assert bench.replay(limit, dry_run=dry_run) == ["fails", "stored"]
        assert "more than 3 new columns, as frazil.schema.max.new.columns allows" in bench.reasons[0]
    assert ids(table) == [1]


def test_a_dry_run_changes_nothing(bench: Bench, table: Table) -> None:
    bench.write(big(0), {"id": None})
    widen(table)
    before = table.refresh().metadata
    ends = kafka_offsets.end_offsets(bench.bootstrap, [bench.queue])
    assert bench.replay(dry_run=True) == ["stored", "fails"]
    assert table.refresh().metadata == before
    assert kafka_offsets.end_offsets(bench.bootstrap, [bench.queue]) == ends


def test_a_null_is_left_out_and_closed(bench: Bench, table: Table) -> None:
    bench.write(None)
    assert bench.replay() == ["skipped"]
    assert (snapshots(table), bench.open()[1]) == (1, [])


def test_nulls_among_others_are_told_apart(bench: Bench, table: Table) -> None:
    widen(table)
    bench.write(*(None if n in (1, 6, 7) else big(n) for n in range(10)), {"id": "x"})
    expected = ["skipped" if n in (1, 6, 7) else "stored" for n in range(10)]
    assert bench.replay(dry_run=True) == [*expected, "fails"]
    assert bench.replay() == [*expected, "fails"]
    assert ids(table) == [0, 2, 3, 4, 5, 8, 9]
    assert len(bench.open()[1]) == 1


def test_the_transforms_of_the_connector_see_the_original_record(bench: Bench, table: Table) -> None:
    bench.write({"id": 0, "n": 2**31}, first=700)
    insert = "org.apache.kafka.connect.transforms.InsertField$Value"
    more = {"transforms": "x", "transforms.x.type": insert, "transforms.x.offset.field": "n"}
    assert bench.replay(more | {"transforms.x.topic.field": "text"}) == ["stored"]
    assert table.refresh().scan().to_arrow().to_pylist() == [{"id": 0, "n": 700, "text": SOURCE}]


def test_what_a_transform_leaves_out_is_closed(bench: Bench, table: Table) -> None:
    bench.write(big(0), big(1))
    drop = "org.apache.kafka.connect.transforms.Filter"
    assert bench.replay({"transforms": "x", "transforms.x.type": drop}) == ["skipped", "skipped"]
    assert (snapshots(table), bench.open()[1]) == (1, [])


def test_without_headers_nobody_knows_the_record(bench: Bench) -> None:
    letter = Letter(bench.queue, 0, 0, 0, None, b"{}")
    queues, _ = bench.open()
    [outcome] = bench.replayer(queues).replay([letter])
    assert outcome == Outcome(
        letter, "fails", "it does not tell which record it is (no __connect.errors.* or frazil.errors.* headers)"
    )


class TestSeveralTables:
    @pytest.fixture
    def second(self, make_table: MakeTable) -> Table:
        return make_table(SCHEMA)

    @pytest.fixture
    def bench(self, stack: LocalStack, table: Table, second: Table) -> Bench:
        return Bench(stack, [table, second])

    def test_only_the_table_that_refused_gets_the_row(self, bench: Bench, table: Table, second: Table) -> None:
        bench.write(big(0), table=name_of(second))
        widen(second)
        assert bench.replay() == ["stored"]
        assert (ids(table), ids(second)) == ([], [0])

    def test_a_table_that_has_the_row_is_left_out(self, bench: Bench, table: Table, second: Table) -> None:
        bench.write(big(0))
        widen(table)
        assert bench.replay() == ["fails"]
        assert (ids(table), ids(second)) == ([0], [])
        assert bench.replay() == ["fails"]
        widen(second)
        assert bench.replay() == ["stored"]
        assert (ids(table), ids(second)) == ([0], [0])

    def test_a_table_that_is_not_the_connectors_any_more(self, bench: Bench) -> None:
        bench.write(big(0), table="gone.t")
        assert bench.replay() == ["fails"]
        assert "its table gone.t is none of" in bench.reasons[0]


@pytest.mark.parametrize("fault", ["500 after", "close after", "500 before", "503 before", "409 before"])
def test_a_commit_that_meets_a_fault_is_made_once(
    bench: Bench, table: Table, proxy: CatalogProxy, fault: Fault
) -> None:
    bench.write(big(0))
    widen(table)
    proxy.faults = [fault]
    assert bench.replay(uri=proxy.uri) == ["stored"]
    assert ids(table) == [0]


def test_a_commit_that_nobody_confirms_is_found_next_time(bench: Bench, table: Table, proxy: CatalogProxy) -> None:
    bench.write(big(0))
    widen(table)
    proxy.faults = ["drop all"]
    with pytest.raises(CommitStateUnknown, match="Repeat the command: what the table has is not stored again"):
        bench.replay(uri=proxy.uri)
    assert bench.replay() == ["present"]
    assert ids(table) == [0]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("429 before", ServiceUnavailable), ("409 before", CommitConflict), ("503 before", CommitStateUnknown)],
)
def test_a_catalog_that_fails_leaves_them_open(
    bench: Bench, table: Table, proxy: CatalogProxy, fault: Fault, kind: type[Exception]
) -> None:
    bench.write(big(0))
    widen(table)
    proxy.faults = [fault] * 20
    with pytest.raises(kind, match="stay open"):
        bench.replay(uri=proxy.uri)
    assert bench.replay() == ["stored"]


def test_a_commit_that_the_catalog_applies_after_the_command_gave_up_has_its_files(
    bench: Bench, table: Table, proxy: CatalogProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil.clients.catalog._TIMEOUT_S", (5.0, 0.5))
    bench.write(big(0))
    widen(table)
    refused: list[Fault] = ["409 before"] * 8
    proxy.faults = ["late", *refused]
    with pytest.raises(CommitStateUnknown, match="the dead letters stay open"):
        bench.replay(uri=proxy.uri)
    assert ids(table) == []
    proxy.let_go()
    eventually(lambda: proxy.commits == 1)
    assert ids(table) == [0], "it names files that are there"
    assert bench.replay() == ["present"]


def test_another_replay_in_between_is_noticed(bench: Bench, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have judged the same dead letters; the one that commits second stores only what the first has not."""
    bench.write(*(big(n) for n in range(4)))
    widen(table)
    queues, letters = bench.open()
    judged = TableReplayer._judge  # noqa: SLF001
    others = iter([letters[:3]])

    def judge(self: TableReplayer, *arguments: Any) -> Any:
        result = judged(self, *arguments)
        for several in others:
            assert {o.verdict for o in bench.replayer(queues).replay(several)} == {"stored"}
        return result

    monkeypatch.setattr(TableReplayer, "_judge", judge)
    outcomes = bench.replayer(queues).replay(letters)
    assert [outcome.verdict for outcome in outcomes] == ["present"] * 3 + ["stored"]
    assert ids(table) == [0, 1, 2, 3]


def test_many_at_once_store_each_once(bench: Bench, table: Table) -> None:
    bench.write(*(big(n) for n in range(200)))
    widen(table)
    queues, letters = bench.open()
    failures: list[Exception] = []

    def one() -> None:
        replayer = bench.replayer(queues)
        for start in range(0, 200, 50):
            try:
                replayer.replay(letters[start : start + 50])
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert ids(table) == list(range(200))


def test_foreign_commits_and_the_connectors_own_go_on(bench: Bench, table: Table) -> None:
    bench.write(*(big(n) for n in range(300)))
    widen(table)
    queues, letters = bench.open()

    def live() -> None:  # fewer times than a commit is tried again
        for number in range(6):
            bench.move_to(table, PASSED + 1 + number)

    thread = threading.Thread(target=live)
    thread.start()
    replayer = bench.replayer(queues)
    try:
        verdicts = [replayer.replay(letters[start : start + 50])[0].verdict for start in range(0, 300, 50)]
    finally:
        thread.join()
    assert verdicts == ["stored"] * 6
    assert ids(table) == list(range(300))
    target = TableBranch(table.catalog, name_of(table), "main")
    assert target.floor(table.refresh(), bench.name).offsets[SOURCE, 0] > PASSED


def test_a_table_that_is_gone(bench: Bench, table: Table) -> None:
    bench.write(big(0))
    table.catalog.drop_table(table.name())
    with pytest.raises(NotFound, match="does not exist"):
        bench.replay()


def test_a_tables_record_that_cannot_be_read_stops_all(bench: Bench, table: Table) -> None:
    bench.write(big(0))
    widen(table)
    now = table.refresh()
    with now.transaction() as change:
        change.update_snapshot(snapshot_properties={DEADLETTERS: '{"t":5}'}).fast_append().commit()
    with pytest.raises(ConfigError, match="Nothing was replayed"):
        bench.replay()


ROUTED: dict[str, Any] = MINIMAL_SINK | {
    "iceberg.tables": "db.a,db.b",
    "iceberg.tables.route-field": "k",
    "iceberg.table.db.a.route-regex": "a|both",
    "iceberg.table.db.b.route-regex": "b|both",
}


def where(config: dict[str, str], *values: bytes | None) -> Routed:
    rows = batch([(value, "t", 0, offset) for offset, value in enumerate(values)])
    return routed(rows, iceberg_sink_config(config))


def test_dead_letters_find_their_tables() -> None:
    found = where(ROUTED, b'{"k":"a"}', b'{"k":"both"}', b'{"k":"c"}', b'{"k"', None)
    assert found.tables == {0: ["db.a"], 1: ["db.a", "db.b"], 2: [], 3: [], 4: []}
    assert list(found.failed) == [3]
    assert found.failed[3].startswith("the value is not JSON")


def test_transformations_come_first() -> None:
    config = ROUTED | {
        "transforms": "x",
        "transforms.x.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.x.field": "after",
    }
    found = where(config, b'{"after":{"k":"b"}}', b"5", b'{"after":null}')
    assert found.tables == {0: ["db.b"], 1: [], 2: []}
    assert list(found.failed) == [1]
    assert "transformation x" in found.failed[1]
