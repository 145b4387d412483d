"""What the environment says of topics of a YAML file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TopicDefaults:
    """For entries that do not say it: where they are stored, after how many records, after how many seconds."""

    bucket: str
    region: str
    endpoint: str
    batch_size: int
    flush_interval_s: int
