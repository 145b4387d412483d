"""Records that wait for others of their partition, in a connector that is not behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from frazil.connectors.registry import connector_of
from frazil.errors import ConfigError
from frazil.text.amounts import counted


def gathering(config: Mapping[str, str], lags: Collection[int]) -> str:
    """Reason why the records that wait in the partitions are not stored; empty where it is none of the sink's rules.

    `lags` are numbers of records by partition.
    """
    try:
        size = connector_of(config).gathers(config)
    except ConfigError:
        return ""
    if not 0 < max(lags, default=0) < size:
        return ""
    count = sum(lags)
    return (
        f"{counted(count, 'record')} {'waits' if count == 1 else 'wait'} in open objects until their partition has "
        f"{size:,} (`flush.size`); `rotate.schedule.interval.ms` stores them by the clock"
    )
