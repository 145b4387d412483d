"""Marks in dead-letter topics: below them are no letters of records that are still to be stored."""

from __future__ import annotations

from frazil.pipeline.offsets import TopicPartition

Marks = dict[TopicPartition, int]
"""Offsets by dead-letter topic and partition."""
