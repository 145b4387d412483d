"""Metadata stored with a position of the consumer group: notes of the clock, and whose offsets these are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from frazil.connectors.objects.clock import Tick

_VERSION = 1


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """`cluster` and `topic` are Kafka's ids of them: with others the offset would mean something else.

    `at` is when it was stored, in epoch milliseconds.
    """

    frazil: int = _VERSION
    cluster: str = ""
    topic: str = ""
    at: int = 0
    ticks: Sequence[Tick] = ()

    def text(self) -> str:
        """Text for `read_metadata`; it fits into the 4,096 bytes that a broker takes."""
        return msgspec.json.encode(self).decode()


_decode = msgspec.json.Decoder(Metadata).decode


def read_metadata(text: str) -> Metadata:
    """Read a position's metadata; it is empty when another program stored it."""
    try:
        found = _decode(text)
    except msgspec.MsgspecError:
        return Metadata()
    return found if found.frazil == _VERSION and text else Metadata()
