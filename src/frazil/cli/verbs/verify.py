"""The verb `verify`: topics compared with what is stored of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from frazil.cli.ui.console import make_console
from frazil.cli.ui.letter_connectors import Connectors
from frazil.cli.ui.progress import Records, progress
from frazil.cli.ui.usage import examples
from frazil.cli.verbs.status import Output
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil.connectors.checks.result import RangeCheck

_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        epilog=examples(
            "verify  # all sinks of the worker",
            "verify user-events --partition 0 --from 5000 --to 6000",
            "verify --config connector.json -o json",
        )
    )(verify)


def verify(
    connectors: Annotated[list[str] | None, typer.Argument(help="Connectors; all sinks when none is named.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A connector's JSON, for a worker that does not run.")
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="Only this Kafka partition.")] = None,
    begin: Annotated[int | None, typer.Option("--from", min=0, help="First offset.")] = None,
    end: Annotated[int | None, typer.Option("--to", min=0, help="Offset to end before.")] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="For people or for programs.")] = Output.TABLE,
) -> None:
    """Compare topics with what is stored of them: objects or tables.

    Each record up to the connector's position has to be stored once and as it is in the topic, or to have a dead
    letter, or to be one that the connector leaves out. Records, objects and rows are read anew and nothing is written.
    The exit code is 1 when a record is missing, doubled or another one than in the topic, and when one of several
    connectors cannot be compared now; those of a kind that never can are named.
    """
    settings = Settings.load()
    chosen = _chosen(settings, connectors or [], config)
    if len(chosen) > 1 and (begin is not None or end is not None or partition is not None):
        raise UsageError("--partition, --from and --to are for one connector; name it. Nothing was compared.")
    checks: dict[str, list[RangeCheck]] = {}
    failed: dict[str, FrazilError] = {}
    with progress(make_console(stderr=True)) as say:
        for name, one in chosen.items():
            try:
                checks[name] = _verified(settings, name, one, Limits(partition, begin, end), say)
            except FrazilError as error:
                if len(chosen) == 1:
                    raise
                failed[name] = error
    if output == Output.JSON:
        bodies = [_body(name, one) for name, found in checks.items() for one in found]
        bodies += [{"connector": name, "error": str(error), "complete": False} for name, error in failed.items()]
        typer.echo(json.dumps(bodies, indent=2))
    else:
        show(checks, failed)
    unknown = [error for error in failed.values() if not isinstance(error, UsageError)]
    if unknown or not all(one.complete for found in checks.values() for one in found):
        raise typer.Exit(1)


class Limits:
    """The part of the ranges that is looked at; None where there is no limit."""

    def __init__(self, partition: int | None, begin: int | None, end: int | None) -> None:
        self.partition, self.begin, self.end = partition, begin, end

    def cut(
        self, begin: Mapping[tuple[str, int], int], end: Mapping[tuple[str, int], int]
    ) -> tuple[dict[tuple[str, int], int], dict[tuple[str, int], int]]:
        """The part of the ranges that was asked for."""
        keys = [key for key in end if self.partition in (None, key[1])]
        starts = {key: max(begin[key], self.begin or 0) for key in keys}
        ends = {key: end[key] if self.end is None else min(end[key], self.end) for key in keys}
        return starts, {key: max(ends[key], starts[key]) for key in keys}


def _chosen(settings: Settings, names: Sequence[str], file: Path | None) -> dict[str, Mapping[str, str]]:
    from frazil.connectors.registry import connector_of
    from frazil.errors import ConfigError

    if file is not None:
        known = Connectors.read(file, names[0] if names else None)
        return dict(known.configs)
    known = Connectors.known(settings)
    if names:
        return {name: known.config_of(name) for name in names}
    if known.unknown:
        known.config_of("")
    found = {}
    for name, config in known.configs.items():
        try:
            if connector_of(config).type == "sink":
                found[name] = config
        except ConfigError:
            continue  # a class that runs on Kafka Connect
    if not found:
        raise UsageError("the worker has no sink; name a connector's file with --config. Nothing was compared.")
    return found


def _verified(
    settings: Settings, name: str, stored: Mapping[str, str], limits: Limits, say: Callable[[str], None]
) -> list[RangeCheck]:
    from frazil.connectors.registry import connector_of
    from frazil.declare.providers import ConfigProviders

    config = {**ConfigProviders.load(settings.config_providers, settings.env).resolve(stored).config, "name": name}
    if "Iceberg" not in connector_of(config).simple_name:
        return _objects(settings, config, limits, say)
    return _tables(settings, config, limits, say)


def _objects(
    settings: Settings, config: Mapping[str, str], limits: Limits, say: Callable[[str], None]
) -> list[RangeCheck]:
    from frazil.clients.credentials import with_store_access
    from frazil.clients.kafka import admin as kafka
    from frazil.clients.kafka.ranges import read_ranges
    from frazil.clients.objects import ObjectStore
    from frazil.connectors.objects.config.object_sink import object_sink_config
    from frazil.connectors.objects.delta.table import delta_target
    from frazil.connectors.objects.delta.verify import DeltaCheck
    from frazil.connectors.objects.verify import ObjectCheck
    from frazil.connectors.source import topics_of
    from frazil.pipeline.rows import rows_of

    sink = object_sink_config(config)
    bootstrap = settings.bootstrap_servers.overridden(config)
    topics = topics_of(sink, bootstrap)
    first = kafka.begin_offsets(bootstrap, topics)
    store = ObjectStore(with_store_access(sink.store, settings))
    table = delta_target(sink, store.config)
    reached = kafka.group_offsets(bootstrap, sink.group_id, first) if table is None else table.start(list(first))
    begin, end = limits.cut(first, {key: max(at, first[key]) for key, at in reached.items()})
    dead = _dead_letters(bootstrap, sink, config, topics)
    whole = limits.end is None
    check: ObjectCheck | DeltaCheck
    if table is None:
        check = ObjectCheck(sink, begin, end, dead, whole=whole)
    else:
        whole = whole and limits.begin is None and limits.partition is None
        check = DeltaCheck(sink, table.columns.struct, begin, end, dead, whole=whole)
    done, total = 0, sum(end.values()) - sum(begin.values())
    for records in read_ranges(bootstrap, begin, end):
        check.take(rows_of(records))
        done += len(records)
        say(Records(f"{sink.name}: records", done, total))
    if isinstance(check, DeltaCheck) and table is not None:
        say(f"{sink.name}: rows of the table")
        found = check.finish(table.rows(check.compared))
    else:
        assert isinstance(check, ObjectCheck)  # noqa: S101 - the other one has a table
        found = check.finish(store, lambda name: say(f"{sink.name}: object {name}"))
    return found if limits.end is not None else _with_waiting(found, end, kafka.end_offsets(bootstrap, topics))


def _tables(
    settings: Settings, config: Mapping[str, str], limits: Limits, say: Callable[[str], None]
) -> list[RangeCheck]:
    from frazil.clients.credentials import with_credentials
    from frazil.clients.kafka import admin as kafka
    from frazil.clients.kafka.ranges import read_ranges
    from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
    from frazil.connectors.iceberg.tools.verify import TableCheck, table_floor
    from frazil.connectors.source import topics_of

    if limits.partition is not None or limits.begin is not None or limits.end is not None:
        raise UsageError(
            "--partition, --from and --to are not for Iceberg sinks: rows do not tell which record they are. Nothing "
            "was compared; leave them out to compare all."
        )
    sink = iceberg_sink_config(config)
    sink = replace(sink, catalog_properties=with_credentials(sink.catalog_properties, settings))
    bootstrap = settings.bootstrap_servers.overridden(config)
    topics = topics_of(sink, bootstrap)
    first = kafka.begin_offsets(bootstrap, topics)
    floor = {key: at for key, at in table_floor(sink).items() if key in first}
    begin, end = limits.cut(first, floor)
    total = sum(end.values()) - sum(begin.values())
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        say(Records(f"{sink.name}: records", done, total))

    dead = _dead_letters(bootstrap, sink, config, topics)
    check = TableCheck(sink, sink.mapper_for, begin, end, dead)

    def read() -> Iterator[Sequence[Any]]:
        return read_ranges(bootstrap, begin, end)

    return _with_waiting(check.compare(read, advance), end, kafka.end_offsets(bootstrap, topics))


def _with_waiting(
    checks: list[RangeCheck], reached: Mapping[tuple[str, int], int], newest: Mapping[tuple[str, int], int]
) -> list[RangeCheck]:
    """Say how many records lie behind the positions: they were not compared."""
    for one in checks:
        topics = one.topic.split(",")  # rows of a table are of all its topics
        keys = [key for key in reached if key[0] in topics and one.partition in (None, key[1])]
        waiting = sum(max(newest.get(key, 0) - reached[key], 0) for key in keys)
        if waiting:
            place = one.topic if one.partition is None else f"{one.topic}-{one.partition}"
            one.notes.append(f"{waiting:,} records of {place} are not stored yet, and were not compared")
    return checks


def _dead_letters(bootstrap: Any, sink: Any, config: Mapping[str, str], topics: list[str]) -> set[tuple[str, int, int]]:
    """Records that have a dead letter."""
    from frazil.clients.kafka.security import secured
    from frazil.pipeline.letters.deadletter import DeadLetterQueue

    if sink.errors_tolerance == "none":
        return set()
    client = tuple(secured(bootstrap, "consumer").items())
    queue = DeadLetterQueue(
        client, sink.name, config.get("connector.class", ""), sink.dead_letter_topic, sink.dead_letter_headers
    )
    return {refusal[:3] for refusal in queue.written_since(topics, 0)}


def _body(connector: str, check: RangeCheck) -> dict[str, Any]:
    return {"connector": connector, **asdict(check), "complete": check.complete}


def show(checks: Mapping[str, Sequence[RangeCheck]], failed: Mapping[str, FrazilError] = MappingProxyType({})) -> None:
    """Print a table, and what is wrong; `failed` are connectors that could not be compared."""
    console = make_console()
    table = Table("CONNECTOR", "TOPIC", "OFFSETS", box=None, pad_edge=False)
    for heading in ("RECORDS", "STORED", "DEAD", "SKIPPED", "MISSING", "DOUBLED", "OTHER"):
        table.add_column(heading, justify="right")
    table.add_column("CHECKSUM")
    for name, found in checks.items():
        for one in found:
            topic = one.topic if one.partition is None else f"{one.topic}-{one.partition}"
            same = (
                "counts only"
                if one.expected_sum is None
                else "equal"
                if one.expected_sum == one.stored_sum
                else "differs"
            )
            numbers = (one.read, one.stored, one.dead, one.skipped, len(one.missing), len(one.doubled), one.foreign)
            table.add_row(
                name,
                topic,
                f"{one.begin:,} to {one.end:,}" if one.partition is not None else "all",
                *(f"{number:,}" for number in numbers),
                same,
                style=None if one.complete else "red",
            )
    console.print(table)
    for name, found in checks.items():
        for one in found:
            for what, offsets in (("missing", one.missing), ("doubled", [at for at in one.doubled if at >= 0])):
                if offsets:
                    shown = ", ".join(map(str, offsets[:_SHOWN])) + (" …" if len(offsets) > _SHOWN else "")
                    place = one.topic if one.partition is None else f"{one.topic}-{one.partition}"
                    console.print(f"{name}: {what} of {place}: offsets {shown}", soft_wrap=True)
            if one.foreign:
                console.print(f"{name}: {one.foreign:,} records of {one.target} are none of the topic", soft_wrap=True)
            for note in one.notes:
                console.print(f"{name}: {note}", soft_wrap=True)
    for name, error in failed.items():
        console.print(f"{name} could not be compared: {error}", style="red", soft_wrap=True)
    if not failed and all(one.complete for found in checks.values() for one in found):
        console.print(
            "Each record that was compared is stored exactly once, is a dead letter, or is left out by its connector."
        )
