"""Origin of a record, in the record itself: the member `_metadata`."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow as pa

from frazil.connectors.keys.versions import VERSION
from frazil.connectors.objects.records import Records
from frazil.connectors.objects.rotation import Numbers
from frazil.pipeline.convert.strict import ConversionError

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
    columns = (records.texts.to_pylist(), records.offsets.tolist(), records.stamps.tolist(), clock.tolist())
    for index, (text, offset, stamp, now) in enumerate(zip(*columns, strict=True)):
        reason = None if text is None else _refused(text)
        if text is None or reason is not None:
            texts.append(None)
            if reason is not None:
                failed.append((index, reason))
            continue
        own = (
            f"{head}{times[now]}{middle}{offset},"
            f'"kafka_timestamp":{stamp if stamp >= 0 else "null"},"processor_version":"{VERSION}"}}}}'
        ).encode()
        whole = text if text[-1:] == b"}" else text.rstrip()
        before = whole[:-1] if whole[-2:-1] > b" " else whole[:-1].rstrip()
        texts.append(before + (own if before[-1:] == b"{" and before.lstrip() == b"{" else b"," + own))
    return replace(records, texts=pa.array(texts, pa.binary())), failed


def _refused(text: bytes) -> ConversionError | None:
    if text[:1] != b"{" and text.lstrip()[:1] != b"{":
        return ConversionError("", _NO_OBJECT)
    # A name may be written with escapes, which are rare enough to be looked at.
    if (_NAME in text or b"\\u" in text) and MEMBER in _members(text):
        return ConversionError(MEMBER, _TWICE)
    return None


def _iso(ms: int) -> str:
    return (_EPOCH + dt.timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
