"""Metadata stored with a position of the consumer group: whose offsets these are, and whether they are a copy."""

from __future__ import annotations

import msgspec

from frazil.connectors.objects.clock import Tick

_ALONE, _COPY = 1, 2


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """`cluster` and `topic` are Kafka's ids of them: with others the offset would mean something else.

    `frazil` is 2 for a copy of a stored position, 1 for one that an earlier release kept in the group alone, with
    `ticks`, and 0 for one of another program.
    """

    frazil: int = 0
    cluster: str = ""
    topic: str = ""
    ticks: tuple[Tick, ...] = ()

    @property
    def is_copy(self) -> bool:
        """Whether the position is stored beside the objects too."""
        return self.frazil == _COPY


_decode = msgspec.json.Decoder(Metadata).decode


def copy_metadata(cluster: str, topic: str) -> str:
    """Text that stands beside the copy of a position, for `read_metadata`."""
    return msgspec.json.encode({"frazil": _COPY, "cluster": cluster, "topic": topic}).decode()


def read_metadata(text: str) -> Metadata:
    """Read a position's metadata; it is empty, and no copy, when another program stored it."""
    try:
        found = _decode(text) if text else Metadata()
    except msgspec.MsgspecError:
        return Metadata()
    return found if found.frazil in (_ALONE, _COPY) else Metadata()
