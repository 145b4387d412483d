"""Text that object sinks write for a value, a key or headers, without what separates records."""

import base64
from collections import deque
from collections.abc import Callable, Sequence
from operator import length_hint
from typing import Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.clients.kafka.headers import Headers
from frazil.pipeline.convert.strict import ConversionError, UnreadableValue
from frazil.pipeline.transforms.record import open_value, read_as_text
from frazil.pipeline.types import STRING, Field, List, Struct

T = TypeVar("T")
Failures = list[tuple[int, ConversionError]]
HEADERS = Struct((Field("headers", List(Struct((Field("key", STRING), Field("value", STRING))))),))
"""The columns of `header_texts`."""

_raw = msgspec.json.Decoder(msgspec.Raw).decode
_BLANKS = (" ", "\t", "\r", "\n")


class _HeaderText(msgspec.Struct):
    key: str
    value: str | None


def json_texts(rows: Sequence[bytes | None]) -> tuple[pa.BinaryArray, Failures]:
    """JSON values as they are, each on one line; JSON null becomes null, and so does what is not JSON, with the reason.

    Nothing but line breaks between tokens is left out, so members and digits are those of the input.
    """
    values = pa.array(rows, pa.binary())
    failed = _not_json(rows, values)
    if failed:
        wrong = {index for index, _ in failed}
        values = pa.array([None if index in wrong else row for index, row in enumerate(rows)], pa.binary())
    texts = values.cast(pa.string())
    content = _content(texts)
    if len(content) and content.min() < ord(" "):
        for line_break in ("\n", "\r"):
            if (content == ord(line_break)).any():
                texts = pc.replace_substring(texts, line_break, "")
    nulls = _json_nulls(texts)
    if pc.any(nulls).as_py():
        texts = pc.if_else(nulls, pa.scalar(None, pa.string()), texts)
    return texts.cast(pa.binary()), failed


def _content(texts: pa.StringArray) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of all texts, one behind the other."""
    _, offsets, data = texts.buffers()
    ends = memoryview(offsets).cast("i")
    return np.frombuffer(data or b"", np.uint8)[ends[texts.offset] : ends[texts.offset + len(texts)]]


def _not_json(rows: Sequence[bytes | None], values: pa.BinaryArray) -> Failures:
    """The `rows` that are not JSON; `values` are the same."""
    failed: dict[int, ConversionError] = {}
    texts: Sequence[bytes] = [b"null" if row is None else row for row in rows] if values.null_count else rows  # type: ignore[assignment]
    waiting = iter(texts)
    done: deque[msgspec.Raw] = deque(maxlen=0)
    while True:
        try:
            done.extend(map(_raw, waiting))
            break
        except (msgspec.MsgspecError, RecursionError):
            _add(failed, rows, len(rows) - length_hint(waiting) - 1)
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        for index, row in enumerate(rows):
            try:
                (row or b"").decode()
            except UnicodeDecodeError:
                _add(failed, rows, index)
    return sorted(failed.items())


def _add(failed: dict[int, ConversionError], rows: Sequence[bytes | None], index: int) -> None:
    try:
        open_value(rows[index] or b"")
    except ConversionError as error:
        failed[index] = error
    else:
        failed[index] = UnreadableValue("the value is not JSON")


def _json_nulls(texts: pa.StringArray) -> pa.BooleanArray:
    found = pc.starts_with(texts, "n")
    for blank in _BLANKS:
        starts = pc.starts_with(texts, blank)
        if pc.any(starts).as_py():
            trimmed = pc.ascii_trim(pc.if_else(starts, texts, pa.scalar(None, pa.string())), "".join(_BLANKS))
            found = pc.or_kleene(found, pc.equal(trimmed, "null"))
    return pc.fill_null(found, False)


def quoted_texts(values: Sequence[bytes | None]) -> tuple[pa.BinaryArray, Failures]:
    """Texts of StringConverter as JSON texts; null stays, and what is not UTF-8 becomes null, with the reason."""
    return _each(values, lambda value: bytes(read_as_text(value)))


def base64_texts(values: Sequence[bytes | None]) -> tuple[pa.BinaryArray, Failures]:
    """Bytes as JSON texts in Base64; null stays."""
    return _each(values, lambda value: b'"' + base64.b64encode(value) + b'"')


def header_texts(headers: Sequence[Headers]) -> tuple[pa.BinaryArray, Failures]:
    """Headers as JSON objects; a record without any has null."""

    def line(found: Headers) -> bytes:
        texts = [_HeaderText(name, None if value is None else _decoded(value)) for name, value in found]
        return msgspec.json.encode({"headers": texts})

    return _each([found or None for found in headers], line)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ConversionError("", f"the text is not UTF-8 (byte {error.start})") from None


def _each(values: Sequence[T | None], convert: Callable[[T], bytes]) -> tuple[pa.BinaryArray, Failures]:
    failed: Failures = []
    result: list[bytes | None] = []
    for index, value in enumerate(values):
        try:
            result.append(None if value is None else convert(value))
        except ConversionError as error:
            failed.append((index, error))
            result.append(None)
    return pa.array(result, pa.binary()), failed
