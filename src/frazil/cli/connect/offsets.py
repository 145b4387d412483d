"""The verb `offsets`: show, move and forget the position of a connector."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frazil.cli.connect.session import ContextOption, NameArgument, connect
from frazil.cli.ui.console import YesOption, consent
from frazil.cli.ui.output import Output, OutputOption, show
from frazil.cli.ui.program import group
from frazil.environment.settings import Settings
from frazil.errors import TransientError, UsageError
from frazil.text.amounts import counted

if TYPE_CHECKING:
    from frazil.clients.connect import ConnectClient

_STOP, _AGAIN = "stop connector iceberg-sink-apilogs", "offsets reset iceberg-sink-apilogs"
_MOVE = "offsets set iceberg-sink-apilogs apilogs:0=1200"
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only tell what would be read again; change nothing.")]
_offsets = group(
    "offsets", "Show, move or forget the position of a connector.", "offsets get iceberg-sink-apilogs", _MOVE
)


@_offsets("get", "offsets get iceberg-sink-apilogs")
def get(name: NameArgument, output: OutputOption = Output.TABLE, context: ContextOption = None) -> None:
    """Show the position of a connector: the next offset of each partition.

    A source connector has partitions and offsets of its own making.
    """
    with connect(context) as client:
        found = client.offsets(name)
    if all(set(entry["partition"]) == {"kafka_topic", "kafka_partition"} for entry in found):
        header: tuple[str, ...] = ("topic", "partition", "next offset")
        rows: list[tuple[object, ...]] = [
            (entry["partition"]["kafka_topic"], entry["partition"]["kafka_partition"], entry["offset"]["kafka_offset"])
            for entry in found
        ]
    else:
        header = ("partition", "offset")
        rows = [(json.dumps(entry["partition"]), json.dumps(entry["offset"])) for entry in found]
    show(output, {"offsets": found}, header, rows)


@_offsets(
    "set",
    _STOP,
    f"{_MOVE} --dry-run",
    f"{_MOVE} apilogs:1=900",
    "offsets set iceberg-sink-apilogs apilogs:0=null  # forget one partition",
    "offsets set iceberg-sink-apilogs -f offsets.json",
)
def set_(
    name: NameArgument,
    positions: Annotated[
        list[str] | None, typer.Argument(help="TOPIC:PARTITION=OFFSET; the offset `null` forgets the partition.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help='JSON as `get` prints it: {"offsets": [...]}; `-` reads stdin.')
    ] = None,
    dry_run: DryRunOption = False,
    context: ContextOption = None,
) -> None:
    """Move the position of a stopped connector.

    Records that are read again are stored again. Stop the connector before, and resume it afterwards.
    """
    if bool(positions) == (file is not None):
        raise UsageError("give the offsets either as TOPIC:PARTITION=OFFSET or with --file. Nothing was changed.")
    offsets = _from_file(file) if file is not None else [_position(text) for text in positions or ()]
    with connect(context) as client:
        _require_stopped(client, name)
        for line in _moves(client.offsets(name), offsets):
            typer.echo(f"{name}: {line}")
        if not dry_run:
            typer.echo(f"{name}: {client.set_offsets(name, offsets)}")
            return
        for remark in _remarks(client.config(name), name, offsets, Settings.load()):
            typer.echo(f"{name}: {remark}")
    typer.echo(f"{name}: nothing was changed")


def _require_stopped(client: ConnectClient, name: str) -> None:
    """Refuse to move what a connector may be moving. Raises UsageError."""
    state = client.status(name)["connector"]["state"]
    if state != "STOPPED":
        raise UsageError(
            f"{name} is {state}, and its position changes only while it is stopped. Nothing was changed: `stop "
            f"connector {name}`, repeat this, and `resume` it."
        )


def _moves(known: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Tell from where to where the position of each partition goes."""
    before = {_place(entry): _offset(entry) for entry in known}
    for entry in wanted:
        place, new = _place(entry), _offset(entry)
        old = before.get(place)
        line = f"{place}: from {'no offset' if old is None else old} to {'none' if new is None else new}"
        if isinstance(old, int) and isinstance(new, int) and new != old:
            count = counted(abs(new - old), "record")
            line += f", up to {count} {'read again' if new < old else 'left out'}"
        yield line


def _remarks(
    config: Mapping[str, str], name: str, offsets: Sequence[Mapping[str, Any]], settings: Settings
) -> list[str]:
    """Tell what the worker would of the offsets of a sink. Raises ConfigError where it would refuse them."""
    from frazil.connectors.connector import Standing
    from frazil.connectors.positions import check_changes

    changes: dict[tuple[str, int], int | None] = {}
    for entry in offsets:
        match entry:
            case {"partition": {"kafka_topic": str(topic), "kafka_partition": int(partition)}, "offset": offset}:
                changes[topic, partition] = offset and offset.get("kafka_offset")
            case _:
                return []
    remarks: list[str] = []
    try:
        cluster = Standing.of(name, config, settings.bootstrap_servers, settings.providers()).cluster
        check_changes(cluster, changes, remarks)
    except TransientError as error:
        return [f"what the topics have is not known: {error}"]
    return remarks


def _place(entry: Mapping[str, Any]) -> str:
    match entry.get("partition"):
        case {"kafka_topic": topic, "kafka_partition": partition}:
            return f"{topic}-{partition}"
    return json.dumps(entry.get("partition"), sort_keys=True)


def _offset(entry: Mapping[str, Any]) -> object:
    match entry.get("offset"):
        case {"kafka_offset": offset}:
            return offset
    return None if entry.get("offset") is None else json.dumps(entry["offset"], sort_keys=True)


def _from_file(file: Path) -> list[dict[str, Any]]:
    try:
        document = json.loads(sys.stdin.read() if str(file) == "-" else file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"--file {file} cannot be read as JSON: {error}. Nothing was changed.") from None
    entries = document.get("offsets") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f'--file {file}: expected {{"offsets": [...]}}. Nothing was changed.')
    return entries


def _position(text: str) -> dict[str, Any]:
    place, equals, offset = text.rpartition("=")
    topic, colon, partition = place.rpartition(":")
    number = offset.isascii() and offset.isdigit()
    if not (
        equals and colon and topic and partition.isascii() and partition.isdigit() and (number or offset == "null")
    ):
        raise UsageError(f"{text}: expected TOPIC:PARTITION=OFFSET, as in apilogs:0=1200. Nothing was changed.")
    return {
        "partition": {"kafka_topic": topic, "kafka_partition": int(partition)},
        "offset": {"kafka_offset": int(offset)} if number else None,
    }


@_offsets("reset", f"{_AGAIN} --dry-run", _STOP, _AGAIN)
def reset(
    name: NameArgument,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    context: ContextOption = None,
) -> None:
    """Forget the position of a stopped connector, which then reads all again; asks first.

    What is stored already of the records that are read again may be stored a second time.
    """
    with connect(context) as client:
        _require_stopped(client, name)
        for line in read_again(client.config(name), name, client.offsets(name), Settings.load()):
            typer.echo(f"{name}: {line}")
        if dry_run:
            typer.echo(f"{name}: nothing was changed")
            return
        consent(yes, f"Forget the position of {name}?")
        typer.echo(f"{name}: {client.reset_offsets(name)}")


def read_again(
    config: Mapping[str, str], name: str, offsets: Sequence[Mapping[str, Any]], settings: Settings
) -> Iterator[str]:
    """Tell of the records below the position `offsets`, and what becomes of those that are stored already."""
    from frazil.connectors import reread

    if not all("kafka_topic" in entry["partition"] for entry in offsets):
        yield "it would read its source from the beginning again"
        return
    reached = {
        (entry["partition"]["kafka_topic"], entry["partition"]["kafka_partition"]): entry["offset"]["kafka_offset"]
        for entry in offsets
    }
    yield from reread.read_again(config, name, reached, settings)
