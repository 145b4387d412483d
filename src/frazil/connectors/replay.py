"""Replays the dead letters of all connectors, chunk by chunk, and marks what is stored."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from frazil.connectors.connector import Connector, open_connector
from frazil.connectors.sink import Outcome, Replayer, Verdict
from frazil.environment.settings import Settings
from frazil.errors import NotFound, NotReplayable, TerminalError
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.letters.log import LetterLog, Queue
from frazil.pipeline.letters.ranges import by_partition

ConfigOf = Callable[[str], Mapping[str, str]]
"""The configuration of a connector by its name; raises NotFound or ServiceUnavailable."""

_CHUNK_BYTES = 8 << 20
_CHUNK_LETTERS = 10_000
_LETTER_BYTES = 500


def chunks(letters: Iterable[Letter]) -> Iterator[list[Letter]]:
    """The dead letters in pieces of some MB."""
    chunk: list[Letter] = []
    size = 0
    for letter in letters:
        chunk.append(letter)
        size += letter.size + _LETTER_BYTES
        if size >= _CHUNK_BYTES or len(chunk) >= _CHUNK_LETTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def replay_all(
    settings: Settings,
    config_of: ConfigOf,
    log: LetterLog,
    queues: Sequence[Queue],
    letters: Iterable[Letter],
    *,
    dry_run: bool,
) -> Iterator[Outcome]:
    """Replay open dead letters of the queues; the markers of a chunk are written before its outcomes are told.

    The dead letters of a connector that cannot run stay open, with the reason. Raises a TransientError when a service
    fails; what was told before is done, and the same call may be repeated. With `dry_run` nothing is changed.
    """
    opened: dict[str, tuple[Connector, Replayer]] = {}

    def replayed(name: str, several: Sequence[Letter]) -> Sequence[Outcome]:
        if name not in opened:
            connector = _opened(settings, config_of, name)
            with connector.hiding() as sink:
                opened[name] = connector, sink.replayer(queues, dry_run=dry_run)
        connector, replayer = opened[name]
        with connector.hiding():
            return replayer.replay(several)

    for chunk in chunks(letters):
        by_connector: dict[str, list[Letter]] = {}
        for letter in chunk:
            by_connector.setdefault(letter.connector, []).append(letter)
        for name, several in by_connector.items():
            try:
                outcomes = replayed(name, several)
            except TerminalError as error:
                verdict: Verdict = "never" if isinstance(error, NotReplayable) else "fails"
                outcomes = [Outcome(letter, verdict, str(error)) for letter in several]
            closed = [outcome.letter.position for outcome in outcomes if outcome.closed]
            if closed and not dry_run:
                log.close(queues, by_partition(closed), "replayed")
            yield from outcomes


def _opened(settings: Settings, config_of: ConfigOf, name: str) -> Connector:
    if not name:
        raise NotFound("it does not tell its connector (no __connect.errors.* or frazil.errors.* headers)")
    return open_connector(name, config_of(name), settings, settings.providers())
