from __future__ import annotations

from typing import Any

import msgspec
import pytest

from frazil.connectors.iceberg.config.iceberg_sink import parse_iceberg_sink
from frazil.pipeline.convert.strict import StageError
from tests.pipeline.transforms.chains import after, applied, chain, config, parsed, text

CLASS = "io.debezium.transforms.ExtractNewRecordState"
UPSERT = {"iceberg__tables__upsert-mode-enabled": "true", "iceberg__tables__default-id-columns": "id"}
EVENT: dict[str, Any] = {
    "op": "u",
    "ts_ms": 7,
    "source": {"db": "shop", "table": "users", "lsn": 120, "ts_ms": 5},
    "transaction": None,
    "before": None,
    "after": {"id": 1, "name": "ann"},
}


def event(**members: Any) -> bytes:
    return msgspec.json.encode(EVENT | members)


DELETE = event(op="d", before={"id": 1, "name": None}, after=None)


def value(given: bytes | None, **keys: str) -> Any:
    """The value after the transformation; the text `dropped` for a record that is dropped."""
    made = applied(chain((CLASS, {name.replace("__", "."): text for name, text in keys.items()})), given)
    return "dropped" if made is None else parsed(text(made.value))


def mode(name: str) -> dict[str, str]:
    return {"delete__tombstone__handling__mode": name}


@pytest.mark.parametrize(
    ("name", "row", "delete", "tombstone"),
    [
        ("drop", {}, "dropped", "dropped"),
        ("tombstone", {}, None, "dropped"),
        ("delete-to-tombstone", {}, None, "dropped"),
        ("REWRITE", {"__deleted": "false"}, {"id": 1, "name": None, "__deleted": "true"}, "dropped"),
        ("rewrite-with-tombstone", {"__deleted": "false"}, {"id": 1, "name": None, "__deleted": "true"}, None),
    ],
)
def test_deletes_and_tombstones(name: str, row: dict[str, str], delete: Any, tombstone: Any) -> None:
    assert value(event(), **mode(name)) == {"id": 1, "name": "ann"} | row
    assert value(DELETE, **mode(name)) == delete
    assert value(None, **mode(name)) == tombstone


def test_fields_and_headers_of_the_event_are_added() -> None:
    keys = {"add.fields": "op,table,source.lsn,transaction.id,none,ts_ms:When", "add.fields.prefix": "_"}
    made = applied(chain((CLASS, keys | {"add.headers": "op,source.db:database"})), event())
    assert made is not None
    added = {"_op": "u", "_table": "users", "_source_lsn": 120, "_transaction_id": None, "_When": 7}
    assert parsed(text(made.value)) == {"id": 1, "name": "ann"} | added
    assert [(name, text(found)) for name, found in made.headers] == [("__op", b'"u"'), ("__database", b'"shop"')]


def test_a_tombstone_has_the_operation_in_its_header_only() -> None:
    keys = {"add.headers": "op,table", "delete.tombstone.handling.mode": "rewrite-with-tombstone"}
    made = applied(chain((CLASS, keys)), None)
    assert made is not None
    assert [(name, text(found)) for name, found in made.headers] == [("__op", b'"d"')]


def test_an_added_field_never_takes_the_place_of_one_of_the_row() -> None:
    with pytest.raises(StageError, match="the row has a field name already"):
        value(event(), add__fields="db:name", add__fields__prefix="")


def test_a_field_gives_the_topic() -> None:
    routed = chain((CLASS, {"route.by.field": "name"}))
    for given, topic in [(event(), "ann"), (event(after={"name": None}), "t"), (event(after={"name": ""}), "t")]:
        made = applied(routed, given)
        assert made is not None
        assert made.topic == topic
    for row, reason in [({"id": 1}, "is missing"), ({"name": 5}, "is no text")]:
        with pytest.raises(StageError, match=f"name, which gives the topic, {reason}"):
            applied(routed, event(after=row))


@pytest.mark.parametrize("other", [b'{"id":1}', b'"text"', b'{"op":"u","after":{}}'])
def test_what_is_no_change_event_stays(other: bytes) -> None:
    assert after((CLASS, {"add.headers": "op"}), other) == other


def test_a_truncate_is_dropped_and_refused_where_records_replace_rows() -> None:
    truncate = event(op="t", after=None)
    assert value(truncate) == "dropped"
    with pytest.raises(StageError, match="the table was truncated in the database"):
        applied(chain((CLASS, {}), **UPSERT), truncate)


def test_rows_of_other_kinds_are_refused() -> None:
    with pytest.raises(StageError, match="after is not an object, as in events of MongoDB"):
        value(event(after='{"_id":1}'))


def test_fields_that_a_header_lists_are_left_out() -> None:
    keys = {"drop.fields.header.name": "gone", "drop.fields.keep.schema.compatible": "false"}
    found = chain((CLASS, keys))
    for header, left in [(b'["name"]', {"id": 1}), (b"[]", {"id": 1, "name": "ann"}), (None, {"id": 1, "name": "ann"})]:
        made = applied(found, event(), headers=[("gone", header)])
        assert made is not None
        assert parsed(text(made.value)) == left
    with pytest.raises(StageError, match="the header gone is no list of names"):
        applied(found, event(), headers=[("gone", b"5")])
    with pytest.raises(StageError, match="header: the value is not UTF-8"):
        applied(found, event(), headers=[("gone", b"\xff")])


def test_a_delete_deletes_the_row_where_records_replace_rows() -> None:
    for name in ("tombstone", "delete-to-tombstone"):
        keys = {"delete.tombstone.handling.mode": name}
        made = applied(chain((CLASS, keys), **UPSERT), DELETE)
        assert made is not None
        assert parsed(text(made.value)) == {"id": 1, "name": None, "_cdc": {"op": "D"}}
        assert value(DELETE, **mode(name)) is None, "where records are appended"


@pytest.mark.parametrize(
    ("keys", "meant"),
    [
        ({"drop.tombstones": "true"}, "drop"),
        ({"drop.tombstones": "false"}, "tombstone"),
        ({"delete.handling.mode": "rewrite"}, "rewrite"),
        ({"drop.tombstones": "false", "delete.handling.mode": "rewrite"}, "rewrite-with-tombstone"),
        ({"delete.handling.mode": "none"}, "delete-to-tombstone"),
    ],
)
def test_former_keys_are_refused_with_the_key_to_set(keys: dict[str, str], meant: str) -> None:
    errors = parse_iceberg_sink(config((CLASS, keys))).error_texts()
    assert len(errors) == len(keys)
    for error in errors:
        assert error.endswith(f"Set transforms.t0.delete.tombstone.handling.mode={meant}")


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"add.fields": "op:a:b"}, "Unexpected field name: op:a:b"),
        ({"delete.tombstone.handling.mode": "soft"}, "String must be one of"),
        ({"drop.fields.header.name": "h"}, "Only optional fields would go"),
    ],
)
def test_keys_that_cannot_work_are_refused(keys: dict[str, str], reason: str) -> None:
    (error,) = parse_iceberg_sink(config((CLASS, keys))).error_texts()
    assert reason in error


@pytest.mark.parametrize(("name", "stay"), [("drop", "as they are"), ("rewrite", "with __deleted"), ("tombstone", "")])
def test_deleted_rows_that_stay_are_warned_of(name: str, stay: str) -> None:
    found = parse_iceberg_sink(config((CLASS, {"delete.tombstone.handling.mode": name}), **UPSERT)).warnings
    assert [text for text in found if "Rows that the database deletes stay" in text and stay in text] == (
        found if stay else []
    )
