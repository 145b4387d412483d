"""State that a connector's statement keeps, as the metrics of its worker tell it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.text.amounts import counted, size

if TYPE_CHECKING:
    from prometheus_client import Metric

_STATE = "frazil_state_"


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
