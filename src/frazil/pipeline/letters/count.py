"""Counts the open dead letters of all connectors of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from frazil.pipeline.letters.log import LetterLog

_MOST = 20_000
"""Messages that are gone through; what takes longer is not counted."""


def count_open(bootstrap: str, topics: Sequence[str]) -> Counter[str] | None:
    """Count the open dead letters of these topics by connector; None where there are too many messages for it.

    Raises NotFound for a topic that does not exist, or ServiceUnavailable.
    """
    log = LetterLog(bootstrap)
    queues = log.look(topics, newest=_MOST)
    if any(queue.older for queue in queues):
        return None
    return Counter(letter.connector for letter in log.letters(queues))
