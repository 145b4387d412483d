"""The member that tells where a record came from."""

from __future__ import annotations

import json

import numpy as np

from frazil.connectors.keys.versions import VERSION
from frazil.connectors.objects.clock import MAX_TICKS, Clock
from frazil.connectors.objects.provenance import with_metadata
from frazil.connectors.objects.task import ObjectsSpec, run
from tests.connectors.objects.samples import FolderStore, records, sink_with
from tests.pipeline.kafka_rows import Row, chunks


def test_the_member_stands_behind_those_of_the_record() -> None:
    texts = [b'{"a": 1.50}', b"{}", b" { } ", None, b'{"x":"}"}  ']
    found, failed = with_metadata(records(texts, stamps=[5, -1, 0, 0, 0], first=7), np.full(5, 1_700_000_000_123))
    rows = found.texts.to_pylist()
    assert not failed
    assert rows[0].startswith(b'{"a": 1.50,"_metadata":{"processing_timestamp":"2023-11-14T22:13:20.123Z",')
    assert [None if row is None else list(json.loads(row)) for row in rows] == [
        ["a", "_metadata"],
        ["_metadata"],
        ["_metadata"],
        None,
        ["x", "_metadata"],
    ]
    assert json.loads(rows[0])["_metadata"] == {
        "processing_timestamp": "2023-11-14T22:13:20.123Z",
        "kafka_topic": "t",
        "kafka_partition": 12,
        "kafka_offset": 7,
        "kafka_timestamp": 5,
        "processor_version": VERSION,
    }
    assert json.loads(rows[1])["_metadata"]["kafka_timestamp"] is None


def test_records_that_cannot_tell_it() -> None:
    texts = [b"[1]", b'{"_metadata":1}', b'{"\\u005fmetadata":1}', b'{"a":"\\"_metadata\\" \\u0041"}']
    _, failed = with_metadata(records(texts), np.zeros(4, np.int64))
    assert [(index, error.path) for index, error in failed] == [(0, ""), (1, "_metadata"), (2, "_metadata")]


def test_times_are_noted_ever_more_rarely_and_never_cut() -> None:
    clock = Clock.of(sink_with({"frazil.metadata.enable": "true"}))
    assert clock is not None
    assert [ms for ms in range(0, 12_000, 100) if clock.advance(ms, ms)][:4] == [0, 1100, 2400, 3800]
    for second in range(12, 8 * 3600):
        clock.advance(second * 1000, second * 1000)
    assert len(clock.ticks) == MAX_TICKS
    assert not any(tick.cut for tick in clock.ticks)


def test_a_task_stores_them(tmp_path: object) -> None:
    store = FolderStore(str(tmp_path))
    config = sink_with({"frazil.metadata.enable": "true", "errors.tolerance": "all", "flush.size": "2"})
    clock = Clock.of(config)
    assert clock is not None
    clock.advance(0, 1000)
    rows = [Row(0, b'{"a":1}'), Row(1, b"2"), Row(2, b'{"a":3}')]
    spec = ObjectsSpec(config, store, {("t", 0): 0}, {("t", 0): 3}, {("t", 0): clock})
    result = run(chunks(rows), spec).partitions["t", 0]
    ((name, data),) = store.objects().items()
    assert name.endswith("t+0+0000000000.json")
    assert [json.loads(line)["_metadata"]["kafka_offset"] for line in data.splitlines()] == [0, 2]
    assert (result.stored.total(), result.dead.total(), result.position) == (2, 1, 3)
