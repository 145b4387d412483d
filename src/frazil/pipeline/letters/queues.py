"""Topics of a cluster that hold dead letters, and their connectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from frazil.errors import NotFound

DLQ = "errors.deadletterqueue."
"""Beginning of the keys of dead letters."""
_SUFFIX = "-dlq"


def queue_topics(topics: Iterable[str], connectors: Iterable[Mapping[str, str]]) -> list[str]:
    """The dead-letter topics among all topics: those that connectors name, and those of the default name."""
    named = {config.get(DLQ + "topic.name", "").strip() for config in connectors}
    return sorted(topic for topic in topics if topic in named or topic.endswith(_SUFFIX))


def chosen_topics(wanted: Sequence[str], topics: Sequence[str], connectors: Sequence[Mapping[str, str]]) -> list[str]:
    """The dead-letter topics that are meant: the wanted ones, all of them when none is.

    Raises NotFound for a topic that does not exist, or that records are read from.
    """
    queues = queue_topics(topics, connectors)
    if not wanted:
        return queues
    sources = {name.strip() for config in connectors for name in config.get("topics", "").split(",")}
    known = f"Dead-letter topics here: {', '.join(queues) or 'none'}."
    for topic in wanted:
        if topic not in topics:
            raise NotFound(f"there is no topic {topic}. {known}")
        if topic not in queues and (topic in sources or f"{topic}{_SUFFIX}" in queues):
            raise NotFound(f"topic {topic} holds records, not dead letters. {known}")
    return list(dict.fromkeys(wanted))
