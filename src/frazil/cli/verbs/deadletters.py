"""The verb `deadletters`: records that could not be stored, to look at, to store after all, or to set aside."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from frazil.cli.ui.console import YesOption, consent, make_console
from frazil.cli.ui.output import Output, OutputOption
from frazil.cli.ui.program import group
from frazil.cli.ui.progress import Records, progress
from frazil.environment.settings import Settings
from frazil.errors import NotFound, UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.cli.ui.letter_connectors import Connectors
    from frazil.pipeline.letters.choice import Choice
    from frazil.pipeline.letters.letter import Letter
    from frazil.pipeline.letters.log import LetterLog, Queue
    from frazil.pipeline.schemas.wire import Part


def spread(verb: Callable[..., None]) -> Callable[..., None]:
    """Let a verb take the fields of a dataclass, which is its first parameter, as options of its own."""
    first, *rest = inspect.signature(verb, eval_str=True).parameters.values()
    kind: Any = first.annotation
    hints = get_type_hints(kind, include_extras=True)
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(kind)
    ]

    @wraps(verb)
    def called(**given: Any) -> None:
        verb(kind(**{one.name: given.pop(one.name) for one in fields(kind)}), **given)

    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in rest]
    called.__signature__ = inspect.Signature([*options, *own])  # type: ignore[attr-defined]
    return called


FEW = 20

_Limit = Annotated[int | None, typer.Option("-n", "--count", min=1, help="So many at most.")]


@dataclass(frozen=True)
class Meant:
    """Options that say which dead letters are meant."""

    connector: Annotated[str | None, typer.Option("--connector", help="Only those of this connector.")] = None
    topic: Annotated[
        list[str] | None, typer.Option("--topic", help="Only those in this dead-letter topic; may be repeated.")
    ] = None
    reason: Annotated[
        str | None,
        typer.Option(
            "--reason", help="Only those whose column and reason hold this text or regular expression, any case."
        ),
    ] = None
    since: Annotated[
        str | None,
        typer.Option("--since", help="Only those from then on: an age (30m, 24h, 7d), or a date or time in UTC."),
    ] = None
    until: Annotated[str | None, typer.Option("--until", help="Only those before then; written like --since.")] = None


_Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Connectors in JSON or YAML, as for `apply`, where the worker does not run or knows them not.",
    ),
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would happen; nothing is changed.")]


_letters = group(
    "deadletters",
    "List, show, replay or drop records that could not be stored.\n\n"
    "A dead letter is open until it is replayed or dropped.",
    "deadletters list",
    "deadletters show apilogs-dlq 0 17",
    "deadletters replay --connector iceberg-sink-apilogs --dry-run",
    "deadletters drop --reason 'not JSON' --until 7d",
)


@_letters(
    "list",
    "deadletters list",
    "deadletters list --all --connector iceberg-sink-apilogs --since 24h",
    "deadletters list --all --reason 'column callInfo.rx' -o json",
)
@spread
def list_letters(
    meant: Meant,
    every: Annotated[bool, typer.Option("--all", help="One line for each dead letter, the newest first.")] = False,
    count: Annotated[
        int | None, typer.Option("-n", "--count", min=1, help=f"So many lines at most; {FEW} when left out.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Count open dead letters by topic, connector and reason.

    Values in reasons are masked like those in the tables.
    """
    from frazil.cli.ui import letter_view

    with _looked(meant) as look:
        if every:
            newest = letter_view.Newest.of(look.letters(), count or FEW)
        else:
            groups = letter_view.grouped(look.letters())
    if every:
        letter_view.print_letters(newest, output)
    else:
        letter_view.print_groups(groups, count or FEW, output)


@_letters("show", "deadletters show apilogs-dlq 0 17", "deadletters show apilogs-dlq 0 17 -o json")
def show(
    topic: Annotated[str, typer.Argument(help="The dead-letter topic.")],
    partition: Annotated[int, typer.Argument(help="Its partition.", min=0)],
    offset: Annotated[int, typer.Argument(help="Offset of the dead letter in it.", min=0)],
    raw: Annotated[bool, typer.Option("--raw", help="Do not mask credentials.")] = False,
    config: _Config = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a dead letter: reason, headers and the original record.

    Key and value are JSON in lines where they are JSON, else text, else hexadecimal; what the connector reads with a
    schema registry follows as it reads it. Credentials are masked like those in the tables.
    """
    from frazil.cli.ui import letter_view
    from frazil.cli.ui.letter_connectors import Connectors
    from frazil.pipeline.letters.log import LetterLog
    from frazil.pipeline.letters.queues import queue_topics

    settings = Settings.load()
    log = LetterLog(settings.bootstrap_servers)
    letter = log.letter(topic, partition, offset)
    name = letter.connector or None
    connectors = Connectors.known(settings) if config is None else Connectors.read(config, name)
    if not (letter.context or connectors.unknown or queue_topics([topic], connectors.configs.values())):
        raise NotFound(
            f"offset {offset} of {topic}, partition {partition} is no dead letter: it tells no reason, and no "
            f"connector has dead letters there. `topics peek {topic} --from {offset} -p {partition} -n 1` shows it."
        )
    with progress(make_console(stderr=True)) as say:
        [queue] = log.look([topic], _advance(say, f"looking for what closes it in {topic}"))
    read = _read(settings, letter, connectors)
    letter_view.print_letter(letter, queue.is_open(partition, offset), output, read, raw=raw)


def _read(settings: Settings, letter: Letter, connectors: Connectors) -> Mapping[str, bytes]:
    """Read key and value as the connector does, as far as that is known."""
    from frazil.connectors.schema_records import read_parts

    config = connectors.configs.get(letter.connector)
    if config is None:
        return {}
    topic = letter.topic if letter.record is None else letter.record[0]
    parts: dict[Part, bytes | None] = {"key": letter.key, "value": letter.value}
    return read_parts(config, settings, settings.providers(), parts, letter.headers, topic)


@_letters(
    "replay",
    "deadletters replay --dry-run",
    "deadletters replay --connector iceberg-sink-apilogs --reason 'column callInfo.rx'",
    "deadletters replay --config connector.json  # while the worker does not run",
)
@spread
def replay(
    meant: Meant,
    count: _Limit = None,
    config: _Config = None,
    dry_run: _DryRun = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Store records again that their tables take by now.

    The original records go through the connector as it is configured now, into its tables, each at most once however
    often this is run or killed. What is refused again stays open, with the new reason. The exit code is 1 when some
    stay open.
    """
    from frazil.cli.ui import letter_view
    from frazil.connectors.replay import replay_all

    with _looked(meant, count, config) as look:
        letters, config_of = look.letters(), look.connectors.config_of
        outcomes = replay_all(look.settings, config_of, look.log, look.queues, letters, dry_run=dry_run)
        all_closed = letter_view.print_outcomes(outcomes, look.say, output, dry_run=dry_run)
    if not all_closed:
        raise typer.Exit(1)


@_letters(
    "drop", "deadletters drop --reason 'not JSON' --dry-run", "deadletters drop --topic apilogs-dlq --until 7d --yes"
)
@spread
def drop(
    meant: Meant,
    count: _Limit = None,
    yes: YesOption = False,
    dry_run: _DryRun = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Mark dead letters as dropped; asks first.

    They are not listed or replayed any more, and stay in their topic until its retention takes them.
    """
    from frazil.cli.ui import letter_view
    from frazil.pipeline.letters.ranges import by_partition

    if output is not Output.TABLE and not (yes or dry_run):
        raise UsageError(f"drop -o {output} cannot ask. Nothing was dropped; pass --yes or --dry-run.")
    with _looked(meant, count) as look:
        groups = letter_view.Groups()
        chosen = by_partition(letter.position for letter in groups.counting(look.letters()))
    if output is Output.TABLE:
        letter_view.print_groups(groups, FEW, output)
    dropped = 0
    if chosen and not dry_run:
        question = f"Drop {counted(groups.total, 'dead letter')}? What is dropped is not listed or replayed any more."
        consent(yes, question, "nothing was dropped")
        look.log.close(look.queues, chosen, "dropped")
        dropped = groups.total
    letter_view.print_dropped(groups, dropped, output)


@dataclass
class _Look:
    """Dead letters that a command is about, and what it needs to change them; `say` shows a step."""

    settings: Settings
    connectors: Connectors
    log: LetterLog
    queues: Sequence[Queue]
    choice: Choice
    say: Callable[[str], None]

    def letters(self) -> Iterator[Letter]:
        """The open dead letters that are meant. Raises NotFound when there is neither one nor the connector."""
        topics = ", ".join(queue.topic for queue in self.queues)
        found = False
        for letter in self.choice.of(
            self.log.letters(self.queues, self.choice.since_ms, _advance(self.say, f"reading {topics}"))
        ):
            found = True
            yield letter
        if not found and self.choice.connector is not None:
            self.connectors.check(self.choice.connector)


@contextmanager
def _looked(meant: Meant, count: int | None = None, config: Path | None = None) -> Iterator[_Look]:
    """Read which dead letters are open, with progress on standard error."""
    from frazil.cli.ui.letter_connectors import Connectors
    from frazil.clients.kafka import topics as kafka_topics
    from frazil.pipeline.letters.choice import Choice
    from frazil.pipeline.letters.log import LetterLog
    from frazil.pipeline.letters.queues import chosen_topics
    from frazil.text.times import point_in_time

    settings = Settings.load()
    now = datetime.now(UTC)
    begin, end = (None if text is None else point_in_time(text, now) for text in (meant.since, meant.until))
    if begin is not None and end is not None and begin >= end:
        raise UsageError(f"--since {meant.since} is not before --until {meant.until}: no dead letter can be meant")
    connectors = Connectors.known(settings) if config is None else Connectors.read(config, meant.connector)
    choice = Choice(connectors.only or meant.connector, meant.reason, begin, end, count)
    choice.check()
    names = chosen_topics(
        meant.topic or (),
        kafka_topics.topics(settings.bootstrap_servers),
        list(connectors.configs.values()),
        connectors.configs.get(choice.connector or ""),
    )
    log = LetterLog(settings.bootstrap_servers)
    console = make_console(stderr=True)
    if connectors.unknown:
        told = "Without it only topics named *-dlq, or with --topic, are read."
        console.print(f"{connectors.unknown}. {told}", soft_wrap=True)
    with progress(console) as say:
        queues = log.look(names, _advance(say, f"looking for open dead letters in {', '.join(names)}"))
        yield _Look(settings, connectors, log, queues, choice, say)


def _advance(say: Callable[[str], None], what: str) -> Callable[[int, int], None]:
    return lambda done, total: say(Records(what, done, total))
