"""A statement with state as a stream of Spark that runs one batch at a time, when it is told to.

Its source gives numbers without end. So Spark has always planned the next batch, and waits for its plan: which records
each task reads. Behind a batch that moves the watermark one without records follows, in which groups end.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from frazil.clients.kafka.ranges import Range
from frazil.connectors.sql.query import ArrowMapping, Reports, written
from frazil.connectors.sql.scan import Late, Refused, Scan, Scanned, ScannedTopic
from frazil.connectors.sql.state_config import STATE_IS_HERE, is_here
from frazil.connectors.sql.state_query import StateQuery
from frazil.connectors.sql.statement import PLACE
from frazil.errors import ConfigError, TerminalError
from frazil.pipeline.source import Source

T = TypeVar("T")
_PREFIX = "frazil-state-"
_LOOK_S = 2.0
_END_S = 10.0


@dataclass
class Ran:
    """Results of a step: reports of the scans that Spark made, the scans that it left out, results of writes."""

    scanned: list[Scanned] = field(default_factory=list)
    left: list[Scan] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    late: int = 0


class StateStream:
    """Runs a statement step by step; from one thread, but for `close`. `folder` has Spark's checkpoint.

    `rows` and `size` are those of the state behind the last step, `watermark_ms` is the one of the next.
    """

    def __init__(
        self, session: SparkSession, query: StateQuery, source: Source, slots: int, folder: Path, *, late_letters: bool
    ) -> None:
        """Start the stream behind the checkpoint in the folder, if it has one; in a thread that speaks to the JVM."""
        self.folder = folder
        self.rows = self.size = 0
        self._query, self._source, self._slots, self._late_letters = query, source, slots, late_letters
        self._plans = folder.parent / "plans"
        self._plans.mkdir()
        self._reports = session.sparkContext.accumulator({}, Reports())
        self._work: SimpleQueue[Callable[[pa.Table], Any] | None] = SimpleQueue()
        self._answers: SimpleQueue[int | Exception] = SimpleQueue()
        self._ran = Ran()
        self._stream: Any = None
        frame = query.stream(session.newSession(), self._scanning, slots)
        writer = frame.writeStream.outputMode("update" if query.statement.updates else "append")
        self._stream = writer.option("checkpointLocation", str(folder)).foreachBatch(self._batch).start()
        self._next = self._answer()

    @property
    def batch(self) -> int:
        """Number of the last batch."""
        return self._next - 1

    @property
    def watermark_ms(self) -> int:
        """The watermark of the next batch, which Spark has planned."""
        lines = (self.folder / "offsets" / str(self._next)).read_text().splitlines()
        return int(json.loads(lines[1])["batchWatermarkMs"])

    def step(
        self, shares: Sequence[Sequence[Range]], refused: Refused, writing: Callable[[int], Callable[[pa.Table], T]]
    ) -> Ran:
        """Take in the records of some ranges, and compute the rows that are due then.

        `writing` makes what writes the rows of a batch, from its number. Raises what Spark raises; then the stream has
        ended, and its folder is worth nothing.
        """
        self._ran, before = Ran(), self.watermark_ms
        self._reports.value = {}
        plan = _Plan(shares, refused, before if self._late_letters else None)
        number = self._run(plan, writing)
        if self.watermark_ms > before and not self._query.statement.updates:
            self._run(_Plan([], {}, None), writing)
        found = self._reports.value
        self._ran.scanned = list(found.values())
        for topic in self._query.topics:
            scans = [(slot, plan.scan(topic, self._source, slot, self._slots)) for slot in range(self._slots)]
            self._ran.left += [
                scan for slot, scan in scans if scan is not None and (number, topic.relation, slot) not in found
            ]
        return self._ran

    def close(self) -> None:
        """End the stream and remove its folder, from any thread; a step that runs fails."""
        with suppress(Py4JError):  # the JVM has ended, and the stream with it
            stopping = threading.Thread(target=self._stream.stop, daemon=True)
            stopping.start()
            deadline = time.monotonic() + _END_S
            while self._stream.isActive and time.monotonic() < deadline:
                time.sleep(0.01)
            self._work.put(None)
            stopping.join(_END_S)
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def _run(self, plan: _Plan, writing: Callable[[int], Callable[[pa.Table], Any]]) -> int:
        number = self._next
        draft = self._plans / "draft"
        draft.write_text(json.dumps(plan.to_json()))
        draft.rename(self._plans / str(number))
        self._work.put(writing(number))
        self._next = self._answer()
        (self._plans / str(number)).unlink()
        return number

    def _answer(self) -> int:
        """Wait until Spark has planned the next batch; then the one before is done."""
        while True:
            try:
                answer = self._answers.get(timeout=_LOOK_S)
            except Empty:
                if not self._stream.isActive:
                    raise self._stream.exception() or TerminalError("the stream of the statement was ended") from None
                continue
            if isinstance(answer, Exception):
                raise answer
            return answer

    def _batch(self, frame: DataFrame, number: int) -> None:
        """Compute a batch when it is wanted; in a thread of Spark's."""
        self._note_progress()
        self._answers.put(number)
        write = self._work.get()
        if write is None:
            return
        try:
            self._ran.results += written(frame, write)
        except Exception as error:
            self._answers.put(error)
            raise

    def _note_progress(self) -> None:
        progress = None if self._stream is None else self._stream._jsq.lastProgress()  # noqa: SLF001 - one call
        if progress is None:
            return
        stores = json.loads(progress.json())["stateOperators"]
        self.rows = sum(each["numRowsTotal"] for each in stores)
        self.size = sum(each["memoryUsedBytes"] for each in stores)
        self._ran.late += sum(each["numRowsDroppedByWatermark"] for each in stores)

    def _scanning(self, topic: ScannedTopic) -> ArrowMapping:
        source, plans, slots, reports = self._source, self._plans, self._slots, self._reports
        watermark = self._query.state.watermarks.get(topic.name)
        column = "" if watermark is None else watermark.column

        def scanning(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                numbers = batch.column(0).cast(pa.int64()).to_pylist()
                for number, slot in zip(numbers, batch.column(1).to_pylist(), strict=True):
                    plan = _Plan.read(plans / str(number // 1000))
                    scan = plan.scan(topic, source, slot % slots, slots, column)
                    if scan is not None:
                        report, rows = scan()
                        reports.add({(number // 1000, topic.relation, slot % slots): report})
                        yield from (each.select([name for name in each.schema.names if name != PLACE]) for each in rows)

        return scanning


@dataclass(frozen=True)
class _Plan:
    """Records of a batch: ranges by tasks, those that are refused, and the time before which they are late."""

    shares: Sequence[Sequence[Range]]
    refused: Refused
    late_ms: int | None

    def scan(self, topic: ScannedTopic, source: Source, slot: int, slots: int, column: str = "") -> Scan | None:
        """Make the scan of a topic's records in one slot; None where there are none."""
        named = topic.number >= 0
        ranges = [one for share in self.shares[slot::slots] for one in share if not named or one.topic == topic.name]
        late = Late(column, self.late_ms) if column and self.late_ms is not None else None
        return Scan(topic, source, ranges, self.refused, late=late) if ranges else None

    def to_json(self) -> Mapping[str, Any]:
        shares = [[[one.topic, one.partition, one.begin, one.end] for one in share] for share in self.shares]
        return {"shares": shares, "refused": [[*at, *why] for at, why in self.refused.items()], "late": self.late_ms}

    @classmethod
    def read(cls, path: Path) -> _Plan:
        found = json.loads(path.read_text())
        refused = {(each[0], each[1], each[2]): (each[3], each[4]) for each in found["refused"]}
        return cls([[Range(*one) for one in share] for share in found["shares"]], refused, found["late"])


def new_folder(session: SparkSession) -> Path:
    """Make a folder for a checkpoint on the disk of this machine, and remove those of workers that were killed.

    Raises ConfigError on a cluster, whose executors do not reach it.
    """
    context = session.sparkContext
    if not is_here(str(context.master)):
        raise ConfigError(f"frazil.sql keeps state, and {STATE_IS_HERE} (SPARK_MASTER={context.master})")
    root = Path(context.getConf().get("spark.local.dir") or tempfile.gettempdir())
    root.mkdir(parents=True, exist_ok=True)
    for path in root.glob(f"{_PREFIX}*"):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(path, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=root)) / "checkpoint"
    folder.mkdir()
    return folder
