"""Defaults that the environment gives to topics of a YAML file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TopicDefaults:
    """Defaults of entries: place of the objects, records per object, seconds per object."""

    bucket: str
    region: str
    endpoint: str
    batch_size: int
    flush_interval_s: int
