"""The verbs `pause`, `resume` and `wait`, and what `stop` and `restart` do to connectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.connect.outcome import BEGINNING, FAILED, failure_of, parts_of, tell_failed
from frazil.cli.connect.session import ContextOption, NamesArgument, RegexOption, chosen, connect, for_each
from frazil.cli.ui.console import make_console
from frazil.cli.ui.program import group
from frazil.cli.ui.progress import Records, progress
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError, UsageError
from frazil.text.amounts import counted
from frazil.text.times import seconds

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient
    from frazil.clients.kafka.groups import Behind
    from frazil.pipeline.offsets import Offsets, TopicPartition

_POLL_S = 0.5
CONNECTOR, TASK = ("connector", "connectors"), ("task", "tasks")

_PAUSE, _RESUME = "pause connector iceberg-sink-apilogs", "resume connector iceberg-sink-apilogs"
_WAIT = "wait connector iceberg-sink-apilogs --for STOPPED"
_pause = group("pause", "Pause connectors: they keep their tasks and read nothing.", _PAUSE)
_resume = group("resume", "Let paused or stopped connectors read again.", _RESUME)
_wait = group("wait", "Wait until connectors are in a state or have caught up.", _WAIT)


@_pause("connector", _PAUSE, "pause connector 'iceberg-.*' -e")
def pause_connector(names: NamesArgument, regex: RegexOption = False, context: ContextOption = None) -> None:
    """Stop reading and keep the tasks; the batch that runs is finished."""
    _each(names, regex, context, lambda client, name: client.pause(name), "pausing")


@_resume("connector", _RESUME, "resume connector 'iceberg-.*' -e")
def resume_connector(names: NamesArgument, regex: RegexOption = False, context: ContextOption = None) -> None:
    """Read again from where the connector was."""
    _each(names, regex, context, lambda client, name: client.resume(name), "resuming", tell_failed)


def stop_connectors(names: Sequence[str], regex: bool, context: str | None) -> None:
    """Stop connectors and give up their tasks, so that their positions can be moved."""
    _each(names, regex, context, lambda client, name: client.stop(name), "stopping")


def restart_connectors(names: Sequence[str], regex: bool, context: str | None, *, only_failed: bool) -> None:
    """Restart connectors and their tasks, or only what of them has failed."""
    with connect(context) as client:

        def restarted(name: str) -> str:
            return "restarting" if client.restart(name, only_failed=only_failed) else "nothing of it has failed"

        for_each(chosen(client, names, regex), restarted, lambda done: tell_failed(client, done))


def restart_tasks(names: Sequence[str], context: str | None) -> None:
    """Restart tasks, given as NAME/NUMBER."""
    wanted = {}
    for text in names:
        connector, slash, number = text.rpartition("/")
        if not (slash and connector and number.isascii() and number.isdigit()):
            raise UsageError(f"{text}: expected CONNECTOR/NUMBER, as in iceberg-sink-apilogs/0. Nothing was restarted.")
        wanted[text] = connector, int(number)
    with connect(context) as client:

        def restarted(text: str) -> str:
            client.restart_task(*wanted[text])
            return "restarting"

        def told(done: Sequence[str]) -> int:
            return tell_failed(client, sorted({wanted[text][0] for text in done}))

        for_each(wanted, restarted, told)


def _each(
    names: Sequence[str],
    regex: bool,
    context: str | None,
    action: Callable[[ConnectClient, str], None],
    done: str,
    then: Callable[[ConnectClient, list[str]], int] = lambda client, names: 0,
) -> None:
    with connect(context) as client:

        def acted(name: str) -> str:
            action(client, name)
            return done

        for_each(chosen(client, names, regex), acted, lambda succeeded: then(client, succeeded))


class Goal(StrEnum):
    """Goals of waiting: the states that a connector stays in, and what it has stored."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    CAUGHT_UP = "CAUGHT-UP"
    COMMITTED = "COMMITTED"


@_wait(
    "connector",
    _WAIT,
    "wait connector 'iceberg-.*' -e --for RUNNING",
    "wait connector iceberg-sink-apilogs --for caught-up --timeout 10m",
)
def wait_connector(
    names: NamesArgument,
    goal: Annotated[Goal, typer.Option("--for", help="What to wait for.", case_sensitive=False)],
    timeout: Annotated[str, typer.Option("--timeout", help="Time to wait at most: seconds, or 90s, 10m, 2h.")] = "2m",
    regex: RegexOption = False,
    context: ContextOption = None,
) -> None:
    """Wait until connectors and their tasks are in a state, or sinks have stored records.

    `pause` and `stop` answer before a connector is in its state. CAUGHT-UP: everything is stored that the
    topics had when the waiting began. COMMITTED: something more is stored than then, or everything. Both ask Kafka for
    the position of the connector's group. The exit code is 1 when one fails, is not running any more, or is not there
    in time.
    """
    deadline = time.monotonic() + seconds(timeout)
    with connect(context) as client:
        wanted = chosen(client, names, regex)
        if goal in (Goal.CAUGHT_UP, Goal.COMMITTED):
            settings = Settings.load()
            with progress(make_console(stderr=True)) as say:
                for_each(wanted, lambda name: until_stored(client, settings, name, goal, deadline, say))
        else:
            for_each(wanted, lambda name: until_state(client, name, goal, deadline))


def until_state(client: ConnectClient, name: str, wanted: Goal, deadline: float) -> str:
    """Wait until a connector and its tasks are in a state; the state.

    Raises TerminalError when it fails, ServiceUnavailable when it is not there in time (`time.monotonic`).
    """
    while True:
        status = client.status(name)
        if _reached(status, wanted):
            return wanted.value
        _check_failure(status)
        _check_time(name, deadline, " ".join(part["state"] for part in parts_of(status)), f"{wanted.value} yet")
        time.sleep(_POLL_S)


def until_stored(
    client: ConnectClient, settings: Settings, name: str, wanted: Goal, deadline: float, say: Callable[[str], None]
) -> str:
    """Wait until a sink has stored what its topics have now, or something of it; the goal. `say` shows how far it is.

    Raises as `until_state`, UsageError for a source, and TerminalError for one that is paused or stopped.
    """
    from frazil.connectors.connector import Standing
    from frazil.connectors.gathering import gathering

    config = client.config(name)
    standing = Standing.of(name, config, settings.bootstrap_servers, settings.providers())
    if not (standing.topics or standing.pattern):
        raise UsageError(f"it reads no topics of Kafka: a source can be waited for with --for {Goal.RUNNING}")
    begun = standing.behind()
    ends = {key: position.end for key, position in begun.items()}
    first = left = _left(ends, begun)
    total = sum(first.values())
    while True:
        say(Records(f"{name} reads", total - sum(left.values()), total))
        status = client.status(name)
        _check_failure(status)
        begins = [part["state"] for part in parts_of(status) if part["state"] in BEGINNING]
        if not begins and (not left or (wanted is Goal.COMMITTED and left != first)):
            return wanted.value
        state = status["connector"]["state"]
        if left and state in (Goal.PAUSED, Goal.STOPPED):
            raise TerminalError(f"it is {state}, with {counted(sum(left.values()), 'record')} to store; `resume` it")
        stands = f"{counted(sum(left.values()), 'record')} behind" if left else begins[0]
        _check_time(name, deadline, stands, f"{wanted.value} yet", gathering(config, left.values()))
        time.sleep(_POLL_S)
        left = _left(ends, standing.behind())


def _left(ends: Offsets, reached: Mapping[TopicPartition, Behind]) -> Offsets:
    """Records below the ends that are not stored yet, where there are any; a topic that is gone has none."""
    left = {key: end - reached[key].position for key, end in ends.items() if key in reached}
    return {key: count for key, count in left.items() if count > 0}


def _check_failure(status: dict[str, Any]) -> None:
    failure = failure_of(status)
    if failure is not None:
        raise TerminalError(f"it is {FAILED}: {failure}")


def _check_time(name: str, deadline: float, now: str, wanted: str, reason: str = "") -> None:
    if time.monotonic() >= deadline:
        more = reason or f"`describe connector {name}` says more"
        raise ServiceUnavailable(f"it is {now}, and not {wanted}; {more}")


def _reached(status: dict[str, Any], wanted: Goal) -> bool:
    tasks = {task["state"] for task in status["tasks"]}
    there = not tasks if wanted is Goal.STOPPED else tasks == {wanted.value}
    if wanted is Goal.PAUSED and not tasks:  # it was made so
        there = True
    return bool(status["connector"]["state"] == wanted.value and there)
