"""Maps community and legacy records to the columns of the log tables.

A legacy audit record becomes an API log row, or an audit row where the table holds audit logs; a server log record
becomes an error row. Values keep their source text. What has no column goes into `tags` as text, so that nothing
is lost and nothing becomes a new column.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from frazil.minio.records.kinds import TABLE_NAMES, TableKind

Kind = Literal["api", "error", "audit", "legacy_audit", "server_log", "unknown"]

_OBJECT = ord("{")

# Fields of an audit record that an error record does not have.
_AUDIT_ONLY = frozenset({"requestID", "requestClaims", "sourceHost", "accessKey", "parentUser"})


def is_object(value: object) -> bool:
    """Whether a value, decoded or raw JSON without leading blanks, is a JSON object."""
    if isinstance(value, msgspec.Raw):
        text = memoryview(value)
        return len(text) > 0 and text[0] == _OBJECT
    return isinstance(value, Mapping)


def classify(record: Mapping[str, object]) -> Kind:
    """The shape of one record; values may be decoded or `msgspec.Raw`.

    Legacy audit records of 2020 have neither `event` nor `trigger`. An audit record without `category`, `details` and
    `metadata` is known by fields that error records lack; where it has none of them it is `unknown`, and only the topic
    can tell.
    """
    has_api = is_object(record.get("api"))
    if has_api and ("trigger" in record or "event" in record):
        return "legacy_audit"
    if "level" in record:
        return "server_log"
    if has_api:
        return "legacy_audit"
    if "callInfo" in record or ("type" in record and "name" in record):
        return "api"
    if "category" in record or "metadata" in record or "details" in record:
        return "audit"
    if "apiName" in record:
        return "error" if "message" in record and _AUDIT_ONLY.isdisjoint(record) else "audit"
    return "unknown"


RawObject = dict[str, msgspec.Raw]

_decoder = msgspec.json.Decoder(RawObject)
_encode = msgspec.json.Encoder().encode

_NULL = msgspec.Raw(b"null")
_CLIENT = msgspec.Raw(b'"client"')
_INTERNAL = msgspec.Raw(b'"internal"')
_INCOMING = b'"incoming"'
_UNKNOWN_SIZE = b"-1"
_QUOTE = ord('"')

# Source field -> column; the other names are the same on both sides.
_API_FROM_RECORD = {"version": "version", "time": "time", "requestNode": "node", "type": "type"}
_API_FROM_CALL = {"name": "name", "bucket": "bucket", "object": "object"}
_CALL_INFO_FROM_CALL = {
    "statusCode": "httpStatusCode",
    "rx": "rx",
    "tx": "tx",
    "txHeaders": "txHeaders",
    "timeToFirstByte": "timeToFirstByte",
    "timeToResponse": "timeToResponse",
}
_CALL_INFO_FROM_RECORD = {
    "remotehost": "sourceHost",
    **{
        name: name
        for name in (
            "requestID",
            "userAgent",
            "requestPath",
            "requestHost",
            "requestClaims",
            "requestQuery",
            "requestHeader",
            "responseHeader",
            "accessKey",
            "parentUser",
        )
    },
}
_SIZES = frozenset({"rx", "tx", "txHeaders"})
_AUDIT_FROM_RECORD = {
    "version": "version",
    "time": "time",
    "requestNode": "node",
    "requestID": "requestID",
    "requestClaims": "requestClaims",
    "remotehost": "sourceHost",
    "accessKey": "accessKey",
    "parentUser": "parentUser",
}
_AUDIT_FROM_CALL = {"name": "apiName", "bucket": "bucket"}
_ERROR_FROM_RECORD = {"version": "version", "time": "time", "requestNode": "node"}
_TRACE_FROM_ERROR = {"source": "source", "variables": "variables"}

# Columns that mark a record as one of its table's own, whatever else it carries.
_OWN: dict[TableKind, frozenset[str]] = {
    "api": frozenset({"callInfo", "name", "type"}),
    "error": frozenset({"message"}),
    "audit": frozenset({"category", "action", "details", "metadata"}),
}

_DESCRIPTIONS: dict[Kind, str] = {
    "api": "an API log record",
    "error": "an error log record",
    "audit": "an audit log record",
    "legacy_audit": "a legacy audit record",
    "server_log": "a server log record",
}


def map_record(kind_of_table: TableKind, record: RawObject) -> RawObject | None:
    """Column -> raw JSON for a legacy record, or None for a record that is stored as it is.

    `origin` is `client` for the trigger `incoming`, `internal` for another one, and absent in records of 2020, which
    have no trigger. Sizes of -1 mean "unknown" and become null.

    Raises ValueError when the record is of a kind that the table does not hold.
    """
    kind = classify(record)
    if kind == "legacy_audit" and kind_of_table != "error":
        return _api_row(record) if kind_of_table == "api" else _audit_row(record)
    if kind == "server_log" and kind_of_table == "error":
        return _error_row(record)
    if kind in ("unknown", kind_of_table) or (kind in _OWN and not _OWN[kind_of_table].isdisjoint(record)):
        return None
    raise ValueError(
        f"{_DESCRIPTIONS[kind]} cannot be stored in a table with the columns of `{TABLE_NAMES[kind_of_table]}`"
    )


def _api_row(record: RawObject) -> RawObject:
    call = _decoder.decode(record["api"])
    row: RawObject = {}
    call_info: RawObject = {}
    tags: RawObject = {}
    for name, value in record.items():
        if name in _CALL_INFO_FROM_RECORD:
            call_info[_CALL_INFO_FROM_RECORD[name]] = value
        elif name in _API_FROM_RECORD:
            row[_API_FROM_RECORD[name]] = value
        elif name not in ("api", "tags"):
            tags[name] = _text("", name, value)
    for name, value in call.items():
        if name in _CALL_INFO_FROM_CALL:
            unknown = name in _SIZES and bytes(value) == _UNKNOWN_SIZE
            call_info[_CALL_INFO_FROM_CALL[name]] = _NULL if unknown else value
        elif name in _API_FROM_CALL:
            row[_API_FROM_CALL[name]] = value
        else:
            _put(tags, "api.", name, value)
    if "trigger" in record:
        row["origin"] = _CLIENT if bytes(record["trigger"]) == _INCOMING else _INTERNAL
    return _finish(row, record, tags, "callInfo", call_info)


def _audit_row(record: RawObject) -> RawObject:
    call = _decoder.decode(record["api"])
    row: RawObject = {"details": _text("", "api", record["api"])}
    tags: RawObject = {}
    for name, value in record.items():
        if name in _AUDIT_FROM_RECORD:
            row[_AUDIT_FROM_RECORD[name]] = value
        elif name not in ("api", "tags"):
            tags[name] = _text("", name, value)
    for name, column in _AUDIT_FROM_CALL.items():
        if name in call:
            row[column] = call[name]
    return _finish(row, record, tags)


def _error_row(record: RawObject) -> RawObject:
    row: RawObject = {}
    trace: RawObject = {}
    tags: RawObject = {}
    nested = {name: _decoder.decode(record[name]) for name in ("api", "error") if is_object(record.get(name))}
    for name, value in record.items():
        if name in _ERROR_FROM_RECORD:
            row[_ERROR_FROM_RECORD[name]] = value
        elif name not in nested and name != "tags":
            tags[name] = _text("", name, value)
    for name, value in nested.get("api", {}).items():
        if name == "name":
            row["apiName"] = value
        else:
            _put(tags, "api.", name, value)
    for name, value in nested.get("error", {}).items():
        if name in _TRACE_FROM_ERROR:
            trace[name] = value
        elif name == "message":
            row["message"] = value
        else:
            _put(tags, "error.", name, value)
    if "message" not in row:
        message = next((name for name in ("message", "error") if name in tags), None)
        if message is not None:
            row["message"] = tags.pop(message)
    return _finish(row, record, tags, "trace", trace)


def _finish(
    row: RawObject, record: RawObject, tags: RawObject, struct: str = "", fields: RawObject | None = None
) -> RawObject:
    if fields:
        row[struct] = msgspec.Raw(_encode(fields))
    own = record.get("tags")
    if own is not None:
        _merge_tags(tags, own)
    if tags:
        row["tags"] = msgspec.Raw(_encode(tags))
    return row


def _put(tags: RawObject, prefix: str, name: str, value: msgspec.Raw) -> None:
    """Add a nested field as `<prefix><name>`; the prefix is repeated while a top-level field has that name."""
    key = f"{prefix}{name}"
    while key in tags:
        key = f"{prefix}{key}"
    tags[key] = _text(prefix, name, value)


def _merge_tags(tags: RawObject, own: msgspec.Raw) -> None:
    """Add the record's own tags; a name that a field has taken is stored as `tags.<name>`."""
    if not is_object(own):
        if bytes(own) != b"null":
            tags["tags"] = _text("", "tags", own)
        return
    taken = frozenset(tags)
    entries: Mapping[str, msgspec.Raw] = _decoder.decode(own)
    for name, value in entries.items():
        key = name
        while key in taken or (key != name and key in entries):
            key = f"tags.{key}"
        tags[key] = _text("tags.", name, value)


def _text(path: str, name: str, value: msgspec.Raw) -> msgspec.Raw:
    """A JSON string (or null) for a raw value: strings as they are, everything else as its source text."""
    source = bytes(value)
    if source[0] == _QUOTE or source == b"null":
        return value
    try:
        return msgspec.Raw(_encode(source.decode()))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}{name}: not valid UTF-8 ({error.reason} at byte {error.start})") from None
