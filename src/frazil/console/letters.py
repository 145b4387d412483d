"""The page of dead letters: the newest of each connector, by reason, beside the bytes that could not be stored."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from starlette.requests import Request

from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.connector import open_connector
from frazil.connectors.iceberg.tools.describe import named_tables
from frazil.console.links import connector_link
from frazil.console.render import Page
from frazil.errors import FrazilError, NotReplayable, UsageError
from frazil.pipeline.letters.deadletter import Coordinates
from frazil.pipeline.letters.letter import Letter, described
from frazil.pipeline.letters.log import LetterLog
from frazil.pipeline.letters.queues import queue_topics
from frazil.pipeline.letters.ranges import Ranges, by_partition
from frazil.pipeline.letters.remedy import remedy
from frazil.pipeline.offsets import TopicPartition
from frazil.sql.value_text import byte_lines
from frazil.text.credentials import redact_bytes, redact_text
from frazil.worker.pages import WorkerView

_NEWEST, _MOST, _STEP = 500, 50_000, 10
"""Messages that are read of the topics of all connectors together, at first and at most, and how many times more each
further look reads."""
_REASONS = 50
_OF_ONE_REASON = 20
_BYTES, _IN_A_LINE = 2000, 120


@dataclass(frozen=True)
class Shown:
    """A dead letter on the page: when it was written, its record if it tells, why, and its key and value as text."""

    position: Coordinates
    at_ms: int
    record: Coordinates | None
    reason: str
    key: str
    value: str

    @classmethod
    def of(cls, letter: Letter) -> Shown:
        reason = redact_text(described(*letter.cause))
        return cls(letter.position, letter.timestamp, letter.record, reason, text_of(letter.key), text_of(letter.value))

    @property
    def place(self) -> str:
        """The dead letter as a form names it."""
        topic, partition, offset = self.position
        return f"{topic}/{partition}/{offset}"


@dataclass
class Reason:
    """Open dead letters of one connector and one reason; `remedy` is the command that lets the table take them, and
    `never` says why they cannot be replayed, if they cannot."""

    connector: str
    text: str
    remedy: str = ""
    never: str = ""
    positions: list[Coordinates] = field(default_factory=list)
    _newest: list[tuple[int, Coordinates, Shown]] = field(default_factory=list)

    def add(self, letter: Letter) -> None:
        """Count a dead letter, and keep it while it is one of the newest."""
        self.positions.append(letter.position)
        item = letter.timestamp, letter.position
        if len(self._newest) < _OF_ONE_REASON:
            heapq.heappush(self._newest, (*item, Shown.of(letter)))
        elif item > self._newest[0][:2]:
            heapq.heapreplace(self._newest, (*item, Shown.of(letter)))

    @property
    def link(self) -> str:
        return connector_link(self.connector)

    @property
    def letters(self) -> list[Shown]:
        """The newest of them, the newest first."""
        return [shown for *_, shown in sorted(self._newest, reverse=True)]

    @property
    def places(self) -> str:
        """All of them as a form names them."""
        return places_text(by_partition(self.positions))


def page(view: WorkerView, request: Request) -> Page:
    """Make the page. Raises ServiceUnavailable."""
    cluster = view.settings.bootstrap_servers
    asked = request.query_params.get("newest", "")
    newest = min(int(asked), _MOST) if asked.isascii() and asked.isdecimal() and len(asked) < 10 else _NEWEST
    topics = queue_topics(kafka_topics.topics(cluster), [info.config for info in view.herder.infos()])
    log = LetterLog(cluster)
    queues = log.look(topics, newest=newest)
    found = reasons(log.letters(queues), _only_tables(view))
    never = {name: _never(view, name) for name in {reason.connector for reason in found}}
    for reason in found:
        reason.never = never[reason.connector]
    older = sum(queue.older for queue in queues)
    return Page(
        "Dead letters",
        "letters.html",
        {
            "reasons": found[:_REASONS],
            "more": len(found[_REASONS:]),
            "topics": topics,
            "newest": newest,
            "older": older,
            "further": min(newest * _STEP, _MOST) if older and newest < _MOST else None,
        },
        here="deadletters",
    )


def _only_tables(view: WorkerView) -> dict[str, str]:
    """Tables of the connectors that have one."""
    named = {info.name: named_tables(info.config) for info in view.herder.infos()}
    return {name: tables[0] for name, tables in named.items() if len(tables) == 1}


def _never(view: WorkerView, name: str) -> str:
    """Reason why dead letters of a connector cannot be replayed; empty where a replay tells more."""
    try:
        config = view.herder.completed(view.herder.info(name).config)
        with open_connector(name, config, view.settings, view.settings.providers()).hiding() as sink:
            sink.replayer([], dry_run=True)
    except NotReplayable as error:
        return str(error)
    except FrazilError:
        return ""
    return ""


def reasons(letters: Iterable[Letter], tables: Mapping[str, str] = MappingProxyType({})) -> list[Reason]:
    """Dead letters by connector and reason, the reason of the newest first; `tables` are those of connectors."""
    found: dict[tuple[str, str], Reason] = {}
    newest: dict[tuple[str, str], int] = {}
    for letter in letters:
        key = letter.connector, letter.kind
        if key not in found:
            table = letter.table or tables.get(letter.connector, "")
            found[key] = Reason(letter.connector, redact_text(letter.kind), redact_text(remedy(*letter.cause, table)))
        found[key].add(letter)
        newest[key] = max(newest.get(key, 0), letter.timestamp)
    return [found[key] for key in sorted(found, key=lambda key: (-newest[key], key))]


def places_text(places: Mapping[TopicPartition, Ranges]) -> str:
    """Dead letters as a form names them: `orders-dlq/0/5,7-9`, with blanks between partitions."""
    return " ".join(f"{topic}/{partition}/{ranges}" for (topic, partition), ranges in places.items())


def places_of(texts: Iterable[str]) -> dict[TopicPartition, Ranges]:
    """Dead letters that a form names. Raises UsageError for texts that `places_text` does not give."""
    found: dict[TopicPartition, Ranges] = {}
    for key, ranges in _places(texts):
        found[key] = found[key] | ranges if key in found else ranges
    return found


def _places(texts: Iterable[str]) -> Iterator[tuple[TopicPartition, Ranges]]:
    for place in (place for text in texts for place in text.split()):
        topic, partition, offsets = ["", "", "", *place.split("/")][-3:]
        try:
            yield (topic, int(partition)), Ranges.parse(offsets)
        except ValueError:
            raise UsageError(f"{place!r} names no dead letters. Nothing was done.") from None


def text_of(value: bytes | None) -> str:
    """Begin of a key or value without credentials: a short one as it is, else as JSON in lines, text or hexadecimal."""
    if value is None:
        return "null"
    begin = redact_bytes(value[:_BYTES])
    short = begin.decode(errors="replace")
    if len(short) <= _IN_A_LINE and short.isprintable() and "\ufffd" not in short:
        return short
    text = "\n".join(byte_lines(begin))
    return f"{text} … ({len(value):,} bytes)" if len(value) > _BYTES else text
