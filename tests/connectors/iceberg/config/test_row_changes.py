from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config, parse_iceberg_sink
from frazil.connectors.iceberg.config.row_changes import RowChanges
from tests.connectors.samples import MINIMAL_SINK

UPSERT = {"iceberg.tables.upsert-mode-enabled": "true"}
CDC = {"iceberg.tables.cdc-field": "_cdc.op"}
IDS = {"iceberg.tables.default-id-columns": "id, tenant.name,id"}


def changes(*more: dict[str, str]) -> RowChanges | None:
    return iceberg_sink_config({**MINIMAL_SINK, **{k: v for part in more for k, v in part.items()}}).row_changes


def warnings(*more: dict[str, str]) -> list[str]:
    return parse_iceberg_sink({**MINIMAL_SINK, **{k: v for part in more for k, v in part.items()}}).warnings


def test_without_these_keys_records_are_appended() -> None:
    assert changes() is None
    assert changes(IDS) is None
    assert changes({"iceberg.tables.upsert-mode-enabled": "false", "iceberg.tables.cdc-field": ""}) is None


def test_upserts() -> None:
    assert changes(UPSERT) == RowChanges(None, (), {})


def test_changes_that_say_what_they_are() -> None:
    assert changes(CDC) == RowChanges(("_cdc", "op"), (), {})


@pytest.mark.parametrize("transform", ["DebeziumTransform", "DmsTransform"])
def test_what_a_transformation_says_of_a_record_counts(transform: str) -> None:
    chain = {"transforms": "x", "transforms.x.type": f"io.tabular.iceberg.connect.transforms.{transform}"}
    assert changes(UPSERT, chain) == RowChanges(("_cdc", "op"), (), {})
    assert changes(UPSERT, chain, {"iceberg.tables.cdc-field": "own"}) == RowChanges(("own",), (), {})
    assert changes(chain) is None


@pytest.mark.parametrize(
    ("replace", "key"),
    [
        ({"exclude": "_cdc"}, "transforms.r.exclude"),
        ({"include": "id,name"}, "transforms.r.include"),
        ({"exclude": "name"}, None),
        ({"include": "id,_cdc"}, None),
    ],
)
@pytest.mark.parametrize("mode", [UPSERT, CDC])
def test_what_says_what_a_record_does_may_not_be_taken_out(
    replace: dict[str, str], key: str | None, mode: dict[str, str]
) -> None:
    chain = {
        "transforms": "x,r",
        "transforms.x.type": "io.tabular.iceberg.connect.transforms.DebeziumTransform",
        "transforms.r.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        **{f"transforms.r.{name}": value for name, value in replace.items()},
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    errors = parse_iceberg_sink({**MINIMAL_SINK, **mode, **chain}).error_texts()
    assert len(errors) == (key is not None)
    assert key is None or (f"configuration {key}: _cdc says what a record does to its row" in errors[0])
    assert parse_iceberg_sink({**MINIMAL_SINK, **chain}).error_texts() == []


def test_key_columns_of_all_tables_and_of_one() -> None:
    found = changes(UPSERT, IDS, {"iceberg.table.db.landing.id-columns": "key , b"})
    assert found is not None
    assert found.id_columns_of("db.other") == (("id",), ("tenant", "name"))
    assert found.id_columns_of("db.landing") == (("key",), ("b",))


def test_what_has_no_effect_is_said() -> None:
    assert warnings(UPSERT, IDS) == []
    assert warnings(CDC, UPSERT) == [
        "iceberg.tables.upsert-mode-enabled has no effect here: with iceberg.tables.cdc-field every record says what "
        "it does to its row"
    ]
    assert warnings(IDS, {"iceberg.table.db.landing.id-columns": "id"}) == [
        f"{key} has no effect here: rows are appended; row keys matter for upserts and deletes only"
        for key in ("iceberg.tables.default-id-columns", "iceberg.table.db.landing.id-columns")
    ]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("iceberg.tables.cdc-field", "_cdc..op", "A name in the path is empty"),
        ("iceberg.tables.default-id-columns", "id,.x", "A name in the path of a column is empty"),
        ("iceberg.table.db.landing.id-columns", "x.", "A name in the path of a column is empty"),
    ],
)
def test_paths_with_a_hole(key: str, value: str, reason: str) -> None:
    [error] = parse_iceberg_sink({**MINIMAL_SINK, **UPSERT, key: value}).error_texts()
    assert error.startswith("Invalid value ")
    assert error.endswith(f"for configuration {key}: {reason}")


EVENTS = {"frazil.cdc.format": "debezium"}


def test_a_table_has_the_mode_that_is_its_own() -> None:
    found = changes(EVENTS, {"frazil.cdc.mode": "append", "iceberg.table.db.landing.cdc-mode": "history"})
    assert found is not None
    assert (found.mode_of("db.other"), found.mode_of("db.landing")) == ("append", "history")
    assert found.keeps_changes
    plain = changes(EVENTS)
    assert plain is not None and plain.mode_of("db.other") == "replica" and not plain.keeps_changes


@pytest.mark.parametrize("key", ["frazil.cdc.mode", "iceberg.table.db.landing.cdc-mode"])
@pytest.mark.parametrize("mode", ["append", "history"])
@pytest.mark.parametrize("format_", ["none", "auto", "maxwell"])
def test_only_events_of_debezium_can_be_kept(key: str, mode: str, format_: str) -> None:
    [error] = parse_iceberg_sink({**MINIMAL_SINK, key: mode, "frazil.cdc.format": format_}).error_texts()
    assert (
        f"for configuration {key}: Only events of Debezium say what it keeps: set frazil.cdc.format=debezium" in error
    )


@pytest.mark.parametrize("key", ["frazil.cdc.mode", "iceberg.table.db.landing.cdc-mode"])
def test_there_is_no_other_mode(key: str) -> None:
    [error] = parse_iceberg_sink({**MINIMAL_SINK, **EVENTS, key: "scd2"}).error_texts()
    assert "replica, append, history" in error
    assert warnings(EVENTS, {"iceberg.table.db.none.cdc-mode": "append"}) == [
        "iceberg.table.db.none.cdc-mode has no effect here: db.none is not in iceberg.tables"
    ]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"value.converter.schemas.enable": "true"}, True),
        ({"value.converter.schemas.enable": "true", "value.converter.replace.null.with.default": "false"}, False),
        ({"value.converter.schemas.enable": "true", "value.converter.replace.null.with.default": "true"}, False),
        ({"value.converter.schemas.enable": "false"}, False),
    ],
)
def test_nulls_that_defaults_would_replace_are_told(more: dict[str, str], told: bool) -> None:
    found = warnings(EVENTS, {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}, more)
    assert any("A null in a column with a default value is stored as that value" in text for text in found) is told
