"""Records that make a step of an object sink raise what nothing has foreseen: they alone are refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.objects import open_object, partition, provenance
from frazil.connectors.objects.clock import Clock
from frazil.connectors.objects.config.object_sink import object_sink_config
from frazil.connectors.objects.formats import parquet
from frazil.connectors.objects.open_object import OpenObject
from frazil.connectors.objects.partitioners import Partitioner
from frazil.connectors.objects.prepare import Preparer
from frazil.connectors.objects.task import ObjectsSpec, run
from frazil.errors import BadRecord, StoreUnavailable, TerminalError
from frazil.pipeline import tolerating
from tests.connectors.broker import Broker
from tests.connectors.objects.driver import Driver, MemoryCluster
from tests.connectors.objects.samples import FORMAT, STORAGE, FolderStore
from tests.connectors.samples import MINIMAL_S3_SINK
from tests.pipeline.kafka_rows import Row, chunks

STEPS = ("prepare", "divide", "metadata", "add", "write")
RAISED: tuple[type[BaseException], ...] = (KeyError, RecursionError, ZeroDivisionError, AssertionError)
KEYS = {
    "format.class": FORMAT + "parquet.ParquetFormat",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "frazil.metadata.enable": "true",
    "errors.tolerance": "all",
    "errors.deadletterqueue.context.headers.enable": "true",
    "partitioner.class": STORAGE + "FieldPartitioner",
    "partition.field.name": "k",
}


def raise_for(step: str, texts: Sequence[Any]) -> None:
    """Raise what the first of the records has been given for a step."""
    for text in texts:
        if text is not None and bytes(text).startswith(b'{"bad":"' + step.encode()):
            raise RAISED[len(text) % len(RAISED)](step)


@contextmanager
def raising_steps() -> Iterator[None]:
    """Make steps raise for records that say so."""
    prepare, divide, add = Preparer.prepare, Partitioner.divide, OpenObject.add
    with_metadata, write = provenance.with_metadata, parquet.write_parquet

    def prepared(self: Preparer, rows: Any, *args: Any) -> Any:
        raise_for("prepare", rows.values)
        return prepare(self, rows, *args)

    def divided(self: Partitioner, records: Any, *args: Any) -> Any:
        raise_for("divide", records.texts.to_pylist())
        return divide(self, records, *args)

    def told(records: Any, *args: Any) -> Any:
        raise_for("metadata", records.texts.to_pylist())
        return with_metadata(records, *args)

    def added(self: OpenObject, records: Any, indexes: Any) -> None:
        raise_for("add", [records.texts.to_pylist()[index] for index in indexes])
        add(self, records, indexes)

    def written(open_lines: Any, *args: Any) -> Any:
        raise_for("write", list(open_lines()))
        return write(open_lines, *args)

    with pytest.MonkeyPatch.context() as patched:
        for owner, name, call in (
            (Preparer, "prepare", prepared),
            (Partitioner, "divide", divided),
            (partition, "with_metadata", told),
            (OpenObject, "add", added),
            (open_object, "write_parquet", written),
        ):
            patched.setattr(owner, name, call)
        yield


def record(kind: str, offset: int, folder: str) -> bytes:
    match kind:
        case "good":
            return b'{"n":%d,"k":"%s"}' % (offset, folder.encode())
        case "refused":
            return b"{"
        case _:
            return b'{"bad":"%s","n":%d,"k":"%s"}' % (kind.encode(), offset, folder.encode())


def stored(store: FolderStore) -> list[int]:
    found = [pq.read_table(BytesIO(data)) for name, data in store.objects().items() if name.endswith(".parquet")]
    return sorted(n for table in found for n in table.column("n").to_pylist())


KINDS = st.lists(
    st.tuples(st.sampled_from(["good", "good", "good", "refused", *STEPS]), st.sampled_from("ab")),
    min_size=1,
    max_size=24,
)


@given(kinds=KINDS, size=st.integers(1, 9), flush=st.integers(1, 5))
def test_whatever_a_step_raises_the_record_alone_becomes_a_dead_letter(
    kinds: list[tuple[str, str]], size: int, flush: int
) -> None:
    kinds = [*kinds, *[("good", "a")] * flush]  # so that what is before them is written
    rows = [Row(offset, record(kind, offset, folder)) for offset, (kind, folder) in enumerate(kinds)]
    config = object_sink_config(MINIMAL_S3_SINK | KEYS | {"flush.size": str(flush)})
    good = [offset for offset, (kind, _) in enumerate(kinds) if kind == "good"]
    complete = good[: len(good) // flush * flush]
    with TemporaryDirectory() as folder, raising_steps():
        store = FolderStore(folder)
        spec = ObjectsSpec(config, store, {}, {("t", 0): len(rows)}, {("t", 0): clock(config)})
        found = run([one for at in range(0, len(rows), size) for one in chunks(rows[at : at + size])], spec)
        assert stored(store) == complete
    result = found.partitions["t", 0]
    assert result.position == (good[len(complete)] if len(complete) < len(good) else len(rows))
    assert result.stored.total() == len(complete)
    bad = [offset for offset in range(len(rows)) if offset not in good]
    assert [letter.offset for letter in result.letters if letter.offset < result.position] == [
        offset for offset in bad if offset < result.position
    ]
    assert result.read == result.position
    for letter in result.letters:
        kind = kinds[letter.offset][0]
        assert (letter.exception is None) == (kind == "refused")
        if letter.exception is not None:
            assert "failed unexpectedly" in letter.reason
            assert letter.value == rows[letter.offset].value


def clock(config: Any) -> Any:
    found = Clock.of(config)
    assert found is not None
    found.advance(0, 1000)
    return found


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    broker = Broker().install(monkeypatch)
    broker.make("t")
    return Driver(MemoryCluster(broker), "t", tmp_path, **KEYS, **{"flush.size": "3"})


@pytest.mark.parametrize("kind", STEPS)
def test_a_connector_goes_on_and_says_once_what_it_has_caught(
    driver: Driver, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    driver.send([record("good" if n % 3 else kind, n, "a") for n in range(9)])
    with raising_steps():
        while driver.process() and driver.moved():
            pass
        driver.restart()
        driver.process()
    assert stored(driver.store) == [1, 2, 4, 5, 7, 8]
    letters = driver.cluster.messages("t-dlq")
    assert sorted(message.value() or b"" for message in letters) == [record(kind, n, "a") for n in (0, 3, 6)]
    told = [record for record in caplog.records if "nothing has foreseen" in record.getMessage()]
    assert len(told) == 1
    assert all(report.read == report.stored + report.dead_letters for report in driver.reports)


@pytest.mark.parametrize("kind", STEPS)
def test_without_tolerance_the_record_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    broker = Broker().install(monkeypatch)
    broker.make("t")
    keys = {**KEYS, "errors.tolerance": "none", "flush.size": "2"}
    driver = Driver(MemoryCluster(broker), "t", tmp_path, **keys)
    driver.send([record("good" if n != 4 else kind, n, "a") for n in range(8)])
    with raising_steps(), pytest.raises(BadRecord, match=r"partition 0, offset 4: step \w+ failed unexpectedly with"):
        while driver.process():
            pass
    assert (stored(driver.store), driver.position()) == ([0, 1, 2, 3], 4)


def test_what_every_record_raises_is_not_their_content(driver: Driver) -> None:
    driver.send([record("prepare", 1, "a") for _ in range(tolerating.ALIKE + 3)])
    with raising_steps(), pytest.raises(TerminalError, match="fails alike"):
        driver.process()
    assert driver.cluster.messages("t-dlq") == []


def test_a_store_that_is_away_says_nothing_of_a_record(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise StoreUnavailable("away")

    driver.send([record("good", n, "a") for n in range(3)])
    monkeypatch.setattr(FolderStore, "put", away)
    with pytest.raises(StoreUnavailable):
        driver.process()
    assert driver.cluster.messages("t-dlq") == []
