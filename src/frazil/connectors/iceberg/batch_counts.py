"""BatchCounts of the commits of one batch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from frazil.pipeline.offsets import Offsets
from frazil.pipeline.report import BatchReport
from frazil.pipeline.results import SkipReason, TableResult


@dataclass
class BatchCounts:
    """A record that goes to several tables counts once for each."""

    started: float = field(default_factory=time.monotonic)
    read: int = 0
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    dead: Counter[str] = field(default_factory=Counter)
    files: int = 0
    bytes_written: int = 0
    write_s: float = 0.0
    commit_s: float = 0.0

    def add(self, result: TableResult) -> None:
        """Count what is safe now: committed, or written as dead letters."""
        self.read += result.read
        self.skipped.update(result.skipped)
        self.stored.update(result.stored)
        self.dead.update(letter.topic for letter in result.dead)
        self.files += len(result.files)
        self.bytes_written += sum(file.file_size_in_bytes for file in result.files)

    def report(self, connector: str, reached: Iterable[Offsets]) -> BatchReport:
        """Report for status and metrics; `reached` are the positions of all tables."""
        several = list(reached)
        lowest = {key: min(each[key] for each in several) for key in several[0] if all(key in each for each in several)}
        return BatchReport(
            connector=connector,
            read=self.read,
            stored=self.stored.total(),
            dead_letters=self.dead.total(),
            skipped=self.skipped.total(),
            files=self.files,
            bytes_written=self.bytes_written,
            duration_s=time.monotonic() - self.started,
            write_s=self.write_s,
            commit_s=self.commit_s,
            stored_by_topic=dict(self.stored),
            dead_by_topic=dict(self.dead),
            skipped_by_reason=dict(self.skipped),
            end_offsets=lowest,
        )
