"""The page of dead letters: the newest of each connector, by reason, beside the bytes that could not be stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.requests import Request

from frazil.clients.kafka import topics as kafka_topics
from frazil.clients.kafka.peek import newest_records
from frazil.console.links import connector_link
from frazil.console.render import Page
from frazil.pipeline.letters.letter import Letter, closed_letters, read_letter
from frazil.pipeline.letters.queues import queue_topics
from frazil.worker.pages import WorkerView

_NEWEST = 500
"""Messages that are read of the topics of all connectors together."""
_OF_ONE_REASON = 20
_BYTES = 2000


@dataclass
class Reason:
    """Open dead letters of one connector and one reason, the newest first."""

    connector: str
    text: str
    count: int = 0
    letters: list[Letter] = field(default_factory=list)

    @property
    def link(self) -> str:
        return connector_link(self.connector)


def page(view: WorkerView, request: Request) -> Page:
    """Make the page. Raises ServiceUnavailable."""
    cluster = view.settings.bootstrap_servers
    topics = queue_topics(kafka_topics.topics(cluster), [info.config for info in view.herder.infos()])
    messages = newest_records(cluster, topics, _NEWEST) if topics else []
    closed = closed_letters(messages)
    letters = [letter for letter in map(read_letter, messages) if letter is not None]
    open_ones = [one for one in letters if one.offset not in closed.get((one.topic, one.partition), ())]
    return Page(
        "Dead letters",
        "letters.html",
        {"reasons": reasons(open_ones), "topics": topics, "newest": _NEWEST, "shown": text_of},
        here="deadletters",
    )


def reasons(letters: Iterable[Letter]) -> list[Reason]:
    """Dead letters by connector and reason, the reason of the newest first."""
    found: dict[tuple[str, str], Reason] = {}
    for letter in sorted(letters, key=lambda one: one.timestamp, reverse=True):
        reason = found.setdefault((letter.connector, letter.kind), Reason(letter.connector, letter.kind))
        reason.count += 1
        if len(reason.letters) < _OF_ONE_REASON:
            reason.letters.append(letter)
    return list(found.values())


def text_of(value: bytes | None) -> str:
    """The begin of a key or value as text; bytes that are none are shown as escapes."""
    if value is None:
        return "null"
    text = value[:_BYTES].decode(errors="backslashreplace")
    return f"{text} … ({len(value):,} bytes)" if len(value) > _BYTES else text
