"""Verdicts on a sample of records that are not stored."""

from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal["stored", "dead letter", "skipped"]


@dataclass(frozen=True)
class Judged:
    """Verdict on a record, for a table or, with an empty name, for none; `reason` tells why it gives no row."""

    topic: str
    partition: int
    offset: int
    table: str
    verdict: Verdict
    reason: str = ""


@dataclass
class TableSample:
    """New and changed columns that a table would get, with their types, and the first rows.

    `problem`: why it gets none, or that it does not exist yet. `warnings` are about the configuration and the table.
    """

    name: str
    changes: dict[str, str] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass
class Sample:
    """All verdicts, in the order of the records, and the tables that the records go to.

    `columns` are those that were found of a topic, for a statement to read. `warnings` are about the configuration and
    the records.
    """

    judged: list[Judged] = field(default_factory=list)
    tables: list[TableSample] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def kinds(self) -> list[tuple[Judged, int]]:
        """The first record of each table, verdict and reason, and how many are like it, the most first."""
        alike: dict[tuple[str, str, str], list[Judged]] = {}
        for each in self.judged:
            alike.setdefault((each.table, each.verdict, each.reason), []).append(each)
        return [(several[0], len(several)) for several in sorted(alike.values(), key=len, reverse=True)]
