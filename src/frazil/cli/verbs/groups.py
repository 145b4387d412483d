"""The verb `groups`: consumer groups of Kafka, their members and how far they have read."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from frazil.cli.ui.output import ListOption, Output, OutputOption, as_text, show, show_table
from frazil.cli.ui.program import group
from frazil.environment.settings import Settings
from frazil.errors import FrazilError, NotFound


def complete_groups(incomplete: str) -> list[str]:
    """Names that a shell offers for a consumer group; none when Kafka does not answer."""
    from frazil.clients.kafka.groups import group_names

    try:
        return [name for name in group_names(Settings.load().bootstrap_servers) if name.startswith(incomplete)]
    except FrazilError:
        return []


_DESCRIBE = "groups describe connect-iceberg-sink-apilogs"
_groups = group("groups", "Show consumer groups of Kafka with their lag.", "groups list", _DESCRIBE)


@_groups("list", "groups list", "groups list -o name")
def list_groups(output: ListOption = Output.TABLE) -> None:
    """List consumer groups with state, members and lag.

    The group of a connector is connect-NAME. Its lag is in records that are not stored yet.
    """
    from frazil.clients.kafka import groups as kafka_groups

    servers = Settings.load().bootstrap_servers
    names = kafka_groups.group_names(servers)
    if output is Output.NAME:
        show(output, None, (), (), names=names)
        return
    found: list[dict[str, Any]] = []
    for one in kafka_groups.described_groups(servers, names):
        positions = kafka_groups.committed_positions(servers, one.name)
        found.append(
            {
                "group": one.name,
                "state": one.state,
                "members": len(one.members),
                "topics": sorted({topic for topic, _ in positions}),
                "lag": sum(position.lag for position in positions.values()) if positions else None,
            }
        )
    rows = [
        (
            *(one["group"], one["state"].lower(), one["members"]),
            "-" if one["lag"] is None else f"{one['lag']:,}",
            " ".join(one["topics"]),
        )
        for one in found
    ]
    show(output, found, ("group", "state", "members", "lag", "topics"), rows, numbers=("members", "lag"))


@_groups("describe", _DESCRIBE, f"{_DESCRIBE} -o json")
def describe(
    name: Annotated[str, typer.Argument(help="Consumer group.", autocompletion=complete_groups)],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how far a group has read, and who reads.

    LOST are records that were deleted before the group has read them.
    """
    from frazil.clients.kafka import groups as kafka_groups

    servers = Settings.load().bootstrap_servers
    known = kafka_groups.described_groups(servers, [name]) if name in kafka_groups.group_names(servers) else []
    if not known:
        raise NotFound(f"consumer group {name} does not exist at {servers}; `groups list` shows those that do.")
    one = known[0]
    positions = kafka_groups.committed_positions(servers, name)
    readers = {key: member.client_id for member in one.members for key in member.partitions}
    partitions = [
        {
            "topic": topic,
            "partition": partition,
            "position": position.offset,
            "end": position.end,
            "lag": position.lag,
            "lost": position.lost,
            "member": readers.get((topic, partition)),
        }
        for (topic, partition), position in positions.items()
    ]
    if output is not Output.TABLE:
        members = [{"client_id": member.client_id, "host": member.host} for member in one.members]
        document = {"group": name, "state": one.state, "members": members, "partitions": partitions}
        typer.echo(as_text(document, output))
        return
    show_table(("group", name), [("state", one.state.lower()), ("members", len(one.members))])
    typer.echo()
    numbers = ("partition", "position", "end", "lag", "lost")
    rows = [(each["topic"], *(f"{each[column]:,}" for column in numbers), each["member"] or "-") for each in partitions]
    red = [place for place, each in enumerate(partitions) if each["lost"]]
    show_table(("topic", *numbers, "member"), rows, numbers=numbers, red=red)
