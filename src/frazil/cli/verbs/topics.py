"""The verb `topics`: list, describe, create, delete and read topics of Kafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer

from frazil.cli.ui.arguments import keys_and_values
from frazil.cli.ui.console import YesOption, consent
from frazil.cli.ui.output import ListOption, Output, OutputOption, as_text, show, show_table
from frazil.cli.ui.program import group
from frazil.cli.ui.worker_connectors import worker_connectors
from frazil.environment.settings import Settings
from frazil.errors import AlreadyExists, FrazilError, UsageError
from frazil.text.amounts import counted
from frazil.text.times import point_in_time

_FEW = 10
_INTERNAL = "__"


def complete_topics(incomplete: str) -> list[str]:
    """Names that a shell offers for a topic; none when Kafka does not answer."""
    from frazil.clients.kafka.topics import topics

    try:
        return [name for name in topics(Settings.load().bootstrap_servers) if name.startswith(incomplete)]
    except FrazilError:
        return []


TopicArgument = Annotated[str, typer.Argument(help="Topic.", autocompletion=complete_topics)]
_PEEK, _CREATE = "topics peek orders -n 5", "topics create orders --partitions 6 --set retention.ms=604800000"
_topics = group(
    "topics",
    "List, describe, create, delete and read topics of Kafka.",
    "topics list",
    _CREATE,
    _PEEK,
)


@_topics("list", "topics list", "topics list -o name")
def list_topics(
    every: Annotated[bool, typer.Option("--all", help="Kafka's own topics too, those that begin with __.")] = False,
    output: ListOption = Output.TABLE,
) -> None:
    """List topics with partitions and records.

    Records are those between the first and the last offset: of a compacted topic fewer are there.
    """
    from frazil.clients.kafka import offsets as kafka_offsets
    from frazil.clients.kafka import topics as kafka_topics

    servers = Settings.load().bootstrap_servers
    names = [name for name in kafka_topics.topics(servers) if every or not name.startswith(_INTERNAL)]
    partitions = kafka_topics.partitions_of(servers, names)
    begins, ends = kafka_offsets.begin_offsets(servers, names), kafka_offsets.end_offsets(servers, names)
    found = [
        {
            "topic": name,
            "partitions": len(own),
            "replicas": max((len(one.replicas) for one in own), default=0),
            "records": sum(ends[name, one.number] - begins[name, one.number] for one in own),
            "healthy": all(one.leader is not None and len(one.in_sync) == len(one.replicas) for one in own),
        }
        for name, own in sorted(partitions.items())
    ]
    rows = [
        (one["topic"], one["partitions"], one["replicas"], f"{one['records']:,}", "" if one["healthy"] else "behind")
        for one in found
    ]
    numbers = ("partitions", "replicas", "records")
    show(output, found, ("topic", *numbers, "replication"), rows, numbers=numbers)


@_topics("describe", "topics describe orders", "topics describe orders -o yaml")
def describe(name: TopicArgument, output: OutputOption = Output.TABLE) -> None:
    """Show offsets, settings and readers of a topic."""
    from frazil.clients.kafka import offsets as kafka_offsets
    from frazil.clients.kafka import topics as kafka_topics

    settings = Settings.load()
    servers = settings.bootstrap_servers
    partitions = kafka_topics.partitions_of(servers, [name])[name]
    own = kafka_topics.own_settings(servers, name)
    begins, ends = kafka_offsets.begin_offsets(servers, [name]), kafka_offsets.end_offsets(servers, [name])
    readers, writers, unknown = _users(settings, name)
    found = {
        "topic": name,
        "id": kafka_topics.topic_ids(servers, [name])[name],
        "settings": own,
        "connectors": None if unknown else sorted(readers),
        "writers": None if unknown else sorted(writers),
        "partitions": [
            {
                "partition": one.number,
                "begin": begins[name, one.number],
                "end": ends[name, one.number],
                "leader": one.leader,
                "replicas": list(one.replicas),
                "in_sync": list(one.in_sync),
            }
            for one in partitions
        ],
    }
    if output is not Output.TABLE:
        typer.echo(as_text(found, output))
        return
    rows = [("id", found["id"]), ("connectors", unknown or ", ".join(sorted(readers)) or "none reads it")]
    rows += [("written by", ", ".join(sorted(writers)))] if writers else []
    show_table(("topic", name), [*rows, *own.items()])
    typer.echo()
    header = ("partition", "begin", "end", "records", "leader", "replicas", "in sync")
    show_table(
        header,
        [
            (
                *(one.number, f"{begins[name, one.number]:,}", f"{ends[name, one.number]:,}"),
                f"{ends[name, one.number] - begins[name, one.number]:,}",
                "none" if one.leader is None else one.leader,
                " ".join(map(str, one.replicas)),
                " ".join(map(str, one.in_sync)),
            )
            for one in partitions
        ],
        numbers=header[:4],
        red=[place for place, one in enumerate(partitions) if len(one.in_sync) < len(one.replicas)],
    )


@_topics("create", _CREATE)
def create(
    name: Annotated[str, typer.Argument(help="Topic.")],
    partitions: Annotated[
        int | None, typer.Option("--partitions", min=1, help="Partitions; the broker's default when left out.")
    ] = None,
    replication: Annotated[
        int | None, typer.Option("--replication", min=1, help="Copies; the broker's default when left out.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="KEY=VALUE", help="Setting; may be repeated.")
    ] = None,
) -> None:
    """Create a topic. The exit code is 1 when it exists already."""
    from frazil.clients.kafka.topics import ensure_topics, partition_counts

    config = keys_and_values(set_ or (), "Nothing was created.")
    servers = Settings.load().bootstrap_servers
    if not ensure_topics(servers, {name: (partitions or -1, config)}, replication)[name]:
        raise AlreadyExists(f"topic {name} exists already and is left as it is; `topics describe {name}` shows it.")
    count = partition_counts(servers, [name])[name]
    typer.echo(f"{name}: created with {counted(count, 'partition')}")


@_topics("delete", "topics delete orders")
def delete(name: TopicArgument, yes: YesOption = False) -> None:
    """Delete a topic with its records; asks first.

    It is refused while a connector reads the topic, or writes its rows there. What connectors have stored of it stays.
    """
    from frazil.clients.kafka import offsets as kafka_offsets
    from frazil.clients.kafka.topics import delete_topic

    settings = Settings.load()
    servers = settings.bootstrap_servers
    ends, begins = kafka_offsets.end_offsets(servers, [name]), kafka_offsets.begin_offsets(servers, [name])
    records = sum(ends.values()) - sum(begins.values())
    readers, writers, unknown = _users(settings, name)
    for users, one, several in ((readers, "reads", "read"), (writers, "writes to", "write to")):
        if users:
            raise UsageError(
                f"{', '.join(sorted(users))} {one if len(users) == 1 else several} {name}. Nothing was deleted; delete "
                "the connector, or give it other topics, before."
            )
    if unknown:
        typer.echo(f"Whether a connector uses it is not known: {unknown}", err=True)
    what = f"{name} with {counted(records, 'record')}"
    consent(yes, f"Delete {what}?", "nothing was deleted")
    delete_topic(servers, name)
    typer.echo(f"{name}: deleted")


@_topics(
    "peek",
    _PEEK,
    "topics peek orders --from 1h --follow",
    "topics peek orders --from 1200 --partition 0 -n 1 -o json",
    "topics peek orders --from beginning -n 1000 --raw -o json  # what `produce --records -` takes",
)
def peek(
    name: TopicArgument,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="So many records at most.")] = _FEW,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="The first ones from here on instead of the newest: an offset, `beginning`, an age (30m, 24h), or a "
            "date or time in UTC.",
        ),
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Only this partition.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes until Ctrl+C.")] = False,
    connector: Annotated[
        str | None,
        typer.Option("--connector", help="Read it with the converters of this connector; one that reads the topic."),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Do not mask credentials.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show records of a topic, by their times.

    They are the newest unless --from says otherwise. What has a schema of a registry is shown as a connector reads it
    that reads the topic. With -o json each line is a record. No consumer group is used. With --follow and --from all
    records from there on are shown.
    """
    from frazil.cli.ui.record_view import decoder, record_printer
    from frazil.clients.kafka import peek as kafka_peek

    settings = Settings.load()
    servers = settings.bootstrap_servers
    show_record = record_printer(output, decoder(settings, name, connector, _users(settings, name)[0]), raw=raw)
    if begin is None:
        starts = kafka_peek.newest_starts(servers, [name], count, partition)
    else:
        starts = _starts(servers, name, begin, partition)
    if not starts:
        raise UsageError(f"topic {name} has no partition {partition}; `topics describe {name}` shows those it has")
    if follow:
        for records in kafka_peek.coming_records(servers, name, starts):
            for record in records:
                show_record(record)
    for record in kafka_peek.first_records(servers, name, starts, count):
        show_record(record)


def _starts(servers: str, name: str, begin: str, only: int | None) -> dict[tuple[str, int], int]:
    """Offsets to begin at, where --from says: those of a time are the ends where nothing is as new."""
    from frazil.clients.kafka import offsets as kafka_offsets

    first = kafka_offsets.begin_offsets(servers, [name])
    last = kafka_offsets.end_offsets(servers, [name])
    if begin == "beginning":
        found = first
    elif re.fullmatch("[0-9]{1,19}", begin):
        found = {key: min(max(int(begin), first[key]), last[key]) for key in first}
    else:
        since = point_in_time(begin, datetime.now(UTC))
        found = last | kafka_offsets.offsets_since(servers, [name], int(since.timestamp() * 1000))
    return {key: offset for key, offset in found.items() if only in (None, key[1])}


def _users(settings: Settings, topic: str) -> tuple[dict[str, Mapping[str, str]], list[str], str]:
    """Configurations of the connectors that read a topic, by name, names of those whose rows it gets, and why neither
    is known."""
    from frazil.connectors.source import reads

    known, unknown = worker_connectors(settings)
    configs = {name: entry["info"]["config"] for name, entry in known.items()}
    writers = [name for name, config in configs.items() if config.get("frazil.sql.topic", "").strip() == topic]
    return {name: config for name, config in configs.items() if reads(config, topic)}, writers, unknown
