"""Spark's Python daemon with what tasks import loaded: the workers that it forks start at once and share its memory."""

from __future__ import annotations

import gc

from pyspark import daemon

import frazil.logs.mapper
import frazil.pipeline.task
import frazil.sinks.iceberg.match  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]
