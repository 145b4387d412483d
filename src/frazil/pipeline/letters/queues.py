"""Topics of a cluster that hold dead letters, and their connectors."""

from collections.abc import Iterable, Mapping, Sequence

from frazil.declare.placeholders import has_placeholder
from frazil.errors import NotFound

DLQ = "errors.deadletterqueue."
"""Beginning of the keys of dead letters."""
_SUFFIX = "-dlq"


def queue_topics(topics: Iterable[str], connectors: Iterable[Mapping[str, str]]) -> list[str]:
    """The dead-letter topics among all topics: those that connectors name, and those of the default name."""
    named = {config.get(DLQ + "topic.name", "").strip() for config in connectors}
    return sorted(topic for topic in topics if topic in named or topic.endswith(_SUFFIX))


def topics_of(config: Mapping[str, str], topics: Iterable[str]) -> list[str]:
    """The topics among all topics where a connector may have its dead letters."""
    name, read = config.get(DLQ + "topic.name", "").strip(), config.get("topics", "")
    if has_placeholder(name) or not name and (has_placeholder(read) or "topics.regex" in config):
        return queue_topics(topics, [config])
    own = [name] if name else [f"{topic.strip()}{_SUFFIX}" for topic in read.split(",")]
    return sorted(set(own).intersection(topics))


def chosen_topics(
    wanted: Sequence[str],
    topics: Sequence[str],
    connectors: Sequence[Mapping[str, str]],
    only: Mapping[str, str] | None = None,
) -> list[str]:
    """The dead-letter topics that are meant: the wanted ones, all of them, or of connector `only`, when none is.

    Raises NotFound for a topic that does not exist, or that records are read from.
    """
    queues = queue_topics(topics, connectors)
    if not wanted:
        return queues if only is None else topics_of(only, topics)
    sources = {name.strip() for config in connectors for name in config.get("topics", "").split(",")}
    known = f"Dead-letter topics here: {', '.join(queues) or 'none'}."
    for topic in wanted:
        if topic not in topics:
            raise NotFound(f"there is no topic {topic}. {known}")
        if topic not in queues and (topic in sources or f"{topic}{_SUFFIX}" in queues):
            raise NotFound(f"topic {topic} holds records, not dead letters. {known}")
    return list(dict.fromkeys(wanted))
