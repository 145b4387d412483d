"""Where a record came from, in the record itself: the member `_metadata` (log-events.md 4.2)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow as pa

from frazil.config.connectors import VERSION
from frazil.pipeline.strict import ConversionError
from frazil.sinks.objects.records import Records
from frazil.sinks.objects.rotation import Numbers

MEMBER = "_metadata"
_NAME = b'"_metadata"'
_TWICE = "the record has this member already, so where it came from cannot be told in it"
_NO_OBJECT = "the value is not an object, so where it came from cannot be told in it"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def with_metadata(records: Records, clock: Numbers) -> tuple[Records, Sequence[tuple[int, ConversionError]]]:
    """The records with that member behind their own; positions of those that cannot have it, with the reason.

    `clock` is what the clock said for each record, in epoch milliseconds. Records without a value stay so.
    """
    failed: list[tuple[int, ConversionError]] = []
    place = msgspec.json.encode(records.topic).decode()
    head = '"_metadata":{"processing_timestamp":"'
    middle = f'","kafka_topic":{place},"kafka_partition":{records.partition},"kafka_offset":'
    times = {int(ms): _iso(int(ms)) for ms in np.unique(clock)}
    texts: list[bytes | None] = []
    for index, text in enumerate(records.texts.to_pylist()):
        if text is None:
            texts.append(None)
            continue
        reason = _refused(text)
        if reason is not None:
            failed.append((index, reason))
            texts.append(None)
            continue
        stamp = int(records.stamps[index])
        own = (
            f"{head}{times[int(clock[index])]}{middle}{int(records.offsets[index])},"
            f'"kafka_timestamp":{stamp if stamp >= 0 else "null"},"processor_version":"{VERSION}"}}}}'
        ).encode()
        before = text.rstrip()[:-1].rstrip()
        texts.append(before + (b"" if before.lstrip() == b"{" else b",") + own)
    return replace(records, texts=pa.array(texts, pa.binary())), failed


def _refused(text: bytes) -> ConversionError | None:
    if text.lstrip()[:1] != b"{":
        return ConversionError("", _NO_OBJECT)
    # A name may be written with escapes, which are rare enough to be looked at.
    if (_NAME in text or b"\\u" in text) and MEMBER in _members(text):
        return ConversionError(MEMBER, _TWICE)
    return None


def _iso(ms: int) -> str:
    return (_EPOCH + dt.timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
