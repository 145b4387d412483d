"""Connectors of a worker with their positions, as one document, and the way back from it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from frazil.clients.connect import ConnectClient
from frazil.connectors.keys.versions import VERSION
from frazil.connectors.registry import connector_of
from frazil.errors import ConfigError, FrazilError, NotFound, UsageError

FORMAT = 1
_STOPPED = "STOPPED"


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A connector: its configuration as it is stored, its state, and its offsets as the REST API has them."""

    name: str
    config: dict[str, str]
    state: str
    offsets: list[dict[str, Any]] = []


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """All connectors of a worker at a time; `kafka_cluster_id` is of the cluster that their offsets are of."""

    format: int
    version: str
    taken: str
    kafka_cluster_id: str
    connectors: list[Saved]

    def encoded(self) -> str:
        """The document as text."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"


def decoded(text: bytes, source: str) -> Backup:
    """Read a document. Raises UsageError for what is none, or one of a later release."""
    try:
        found = msgspec.json.decode(text, type=Backup)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{source} is no backup: {error}. Nothing was changed.") from None
    if found.format > FORMAT:
        raise UsageError(
            f"{source} was made by release {found.version}, whose backups this one does not know. Nothing was changed; "
            "use that release or a later one."
        )
    return found


def take(client: ConnectClient) -> Backup:
    """Read all connectors of a worker. Raises as ConnectClient does."""
    return Backup(
        format=FORMAT,
        version=VERSION,
        taken=datetime.now(UTC).isoformat(timespec="seconds"),
        kafka_cluster_id=str(client.root().get("kafka_cluster_id", "")),
        connectors=[
            Saved(
                name=name,
                config=client.config(name),
                state=client.status(name)["connector"]["state"],
                offsets=client.offsets(name),
            )
            for name in client.connectors()
        ],
    )


def restore(client: ConnectClient, backup: Backup, *, dry_run: bool) -> Iterator[tuple[str, str, bool]]:
    """Create the connectors that the worker does not have: name, what was done or would be, and whether it was.

    A connector that is there stays as it is. Each is created STOPPED, gets its position where nothing else holds one,
    and then the state that it had.
    """
    same_cluster = client.root().get("kafka_cluster_id") == backup.kafka_cluster_id
    for saved in backup.connectors:
        try:
            yield saved.name, _restored(client, saved, same_cluster=same_cluster, dry_run=dry_run), True
        except FrazilError as error:
            yield saved.name, str(error), False


def _restored(client: ConnectClient, saved: Saved, *, same_cluster: bool, dry_run: bool) -> str:
    try:
        now = client.config(saved.name)
    except NotFound:
        pass
    else:
        return "is there as it was" if now == saved.config else "is there and differs; left as it is"
    in_store = _holds_position(saved.config)
    is_set = bool(saved.offsets) and not in_store and same_cluster
    told = "its store holds its position" if in_store else "it had no position"
    if saved.offsets and not in_store:
        told = "with its position" if same_cluster else "without its position, which is of another Kafka cluster"
    state = saved.state if saved.state in ("PAUSED", _STOPPED) else "RUNNING"
    if saved.offsets and not in_store and not same_cluster:
        state = _STOPPED
    if dry_run:
        return f"would be created, {state}: {told}"
    client.create(saved.name, saved.config, _STOPPED)
    if is_set and not client.offsets(saved.name):
        client.set_offsets(saved.name, saved.offsets)
    if state == "RUNNING":
        client.resume(saved.name)
    elif state == "PAUSED":
        client.pause(saved.name)
    return f"created, {state}: {told}"


def _holds_position(config: Mapping[str, str]) -> bool:
    try:
        return connector_of(config).holds_position
    except ConfigError:  # of Kafka Connect's runtime, or of a package that is not installed here
        return False
