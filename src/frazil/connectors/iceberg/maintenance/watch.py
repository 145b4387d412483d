"""Progress of Spark's jobs in the middle of a step that takes minutes."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

_INTERVAL_S = 1.0
_GROUP = re.compile(r"file group (\d+)/(\d+)")


@contextmanager
def watching(session: SparkSession, what: str, say: Callable[[str], None]) -> Iterator[None]:
    """Tell with `say`, each second, which group of files of the running rewrite Spark is at."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_INTERVAL_S):
            group = _group(session)
            if group is not None:
                say(f"{what}: group {group[0]} of {group[1]}")

    thread = threading.Thread(target=look, name="maintenance-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _group(session: SparkSession) -> tuple[int, int] | None:
    """The furthest group among the running stages; None when no stage is of a rewrite, or the JVM has gone."""
    context: Any = session.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark has no stages' descriptions
    found = []
    try:
        stages = context.statusStore().activeStages().iterator()
        while stages.hasNext():
            description = stages.next().description()
            match = _GROUP.search(str(description.get())) if description.isDefined() else None
            if match:
                found.append((int(match[1]), int(match[2])))
    except Py4JError:
        return None
    return max(found, default=None)
