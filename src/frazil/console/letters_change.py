"""Pages that replay and drop chosen dead letters: first what would happen, then, when that is confirmed, what did."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from starlette.requests import Request

from frazil.clients.kafka import topics as kafka_topics
from frazil.connectors.replay import replay_all
from frazil.connectors.sink import WORDS
from frazil.console.letters import places_of, places_text, reasons
from frazil.console.render import Page
from frazil.console.sent import fields_of
from frazil.errors import UsageError
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.letters.log import LetterLog, Queue
from frazil.pipeline.letters.queues import chosen_topics
from frazil.pipeline.letters.ranges import by_partition
from frazil.text.credentials import redact_text
from frazil.worker.pages import WorkerView

logger = logging.getLogger(__name__)

_SHOWN = 100


@dataclass
class _Chosen:
    """Dead letters that a form names, as far as they are open; `sure` when the form confirms what was shown."""

    view: WorkerView
    log: LetterLog
    queues: list[Queue]
    places: str
    letters: Iterator[Letter]
    sure: bool

    @classmethod
    def of(cls, view: WorkerView, request: Request) -> _Chosen:
        """Read a form. Raises UsageError for one that names none, NotFound, or ServiceUnavailable."""
        fields = fields_of(request)
        wanted = places_of(fields.get("letters", ()))
        if not wanted:
            raise UsageError("No dead letter is chosen. Go back, and tick those that are meant.")
        cluster = view.settings.bootstrap_servers
        configs = [info.config for info in view.herder.infos()]
        topics = chosen_topics(sorted({topic for topic, _ in wanted}), kafka_topics.topics(cluster), configs)
        log = LetterLog(cluster)
        queues = log.look(topics)
        return cls(view, log, queues, places_text(wanted), log.chosen(queues, wanted), "sure" in fields)

    def config_of(self, name: str) -> Mapping[str, str]:
        """The configuration of a connector, with the converters that it has from the worker. Raises NotFound."""
        return self.view.herder.completed(self.view.herder.info(name).config)


def replay(view: WorkerView, request: Request) -> Page:
    """Make the page of a replay. Raises as `replay_all` does, and for a form that names no dead letters."""
    chosen = _Chosen.of(view, request)
    counts: Counter[str] = Counter()
    still_open: list[tuple[Letter, str]] = []
    for outcome in replay_all(
        view.settings, chosen.config_of, chosen.log, chosen.queues, chosen.letters, dry_run=not chosen.sure
    ):
        counts[WORDS[outcome.verdict][not chosen.sure]] += 1
        if not outcome.closed and len(still_open) < _SHOWN:
            still_open.append((outcome.letter, redact_text(outcome.reason)))
    return _page("Replay", chosen, counts, {"still_open": still_open})


def drop(view: WorkerView, request: Request) -> Page:
    """Make the page of a drop. Raises ServiceUnavailable, and for a form that names no dead letters."""
    chosen = _Chosen.of(view, request)
    found = reasons(chosen.letters)
    positions = [position for reason in found for position in reason.positions]
    if chosen.sure and positions:
        chosen.log.close(chosen.queues, by_partition(positions), "dropped")
    return _page("Drop", chosen, {"dropped" if chosen.sure else "would be dropped": len(positions)}, {"reasons": found})


def _page(verb: str, chosen: _Chosen, counts: Mapping[str, int], values: Mapping[str, object]) -> Page:
    told = [f"{count:,} {word}" for word, count in counts.items() if count]
    if chosen.sure:
        logger.info("%s of dead letters from the console: %s", verb.lower(), ", ".join(told) or "none was open")
    beside = {"verb": verb, "sure": chosen.sure, "places": chosen.places, "told": told, "count": sum(counts.values())}
    return Page(
        f"{verb} dead letters",
        "letters_change.html",
        {"still_open": [], "reasons": [], **beside, **values},
        here="deadletters",
    )
