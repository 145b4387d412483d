"""State that a connector's statement keeps, as the metrics of its worker tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.connectors.kept_keys import FOUND_COLUMNS
from frazil.text.amounts import counted, size

if TYPE_CHECKING:
    from prometheus_client import Metric

_STATE = "frazil_state_"
_OF_STATEMENT = ("frazil.sql", "frazil.sql.file", "frazil.sql.schema", "frazil.watermark", "frazil.dedup.keys")


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Warn of a change that a statement's state may not go on with."""
    found = sorted(key for key in before.keys() | after.keys() if key.startswith(FOUND_COLUMNS))
    keys = [key for key in (*_OF_STATEMENT, *found) if before.get(key) != after.get(key)]
    if not (before.get("frazil.sql") or before.get("frazil.sql.file")) or not keys:
        return []
    return [
        f"{', '.join(keys)} changed: if the statement has state (windows, groups, joins of topics), it goes on with "
        "that of the same statement alone, and is FAILED until its offsets are reset"
    ]


def kept(metrics: Sequence[Metric], connector: str) -> list[tuple[str, str]]:
    """Facts about the state of a connector; none where it keeps none, or runs on another worker."""
    found = {
        metric.name.removeprefix(_STATE): sample.value
        for metric in metrics
        if metric.name.startswith(_STATE)
        for sample in metric.samples
        if sample.labels.get("connector") == connector
    }
    return state_facts(found["rows"], found["bytes"], found["watermark_timestamp_seconds"]) if found else []


def state_facts(rows: float, memory: float, watermark_s: float) -> list[tuple[str, str]]:
    """Tell rows and bytes of memory of a state, and its watermark, in seconds since 1970."""
    facts = [("State", f"{counted(int(rows), 'row')}, {size(int(memory))}")]
    if watermark_s > 0:
        facts.append(("Watermark", f"{datetime.fromtimestamp(watermark_s, UTC):%Y-%m-%d %H:%M:%S} UTC"))
    return facts
