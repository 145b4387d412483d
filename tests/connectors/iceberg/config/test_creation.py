from __future__ import annotations

from frazil.connectors.iceberg.config.creation import Creation, PartitionTerm
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config, parse_iceberg_sink

BASE = {
    "name": "c",
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "t",
    "iceberg.tables": "db.a,db.b",
    "iceberg.catalog.type": "rest",
}
KEYS = {
    "iceberg.tables.default-partition-by": "day(ts)",
    "iceberg.table.db.b.partition-by": "bucket(id, 4), kind",
    "iceberg.tables.auto-create-props.write.parquet.compression-codec": "zstd ",
}
ON = {"iceberg.tables.auto-create-enabled": "true"}


def test_tables_have_settings_of_their_own_or_the_default() -> None:
    ids = {"iceberg.tables.default-id-columns": "id", "iceberg.table.db.b.id-columns": "id, kind"}
    assert iceberg_sink_config(BASE | ON | KEYS | ids).creation == Creation(
        (PartitionTerm("day", "ts"),),
        {"db.b": (PartitionTerm("bucket", "id", 4), PartitionTerm("identity", "kind"))},
        ("id",),
        {"db.b": ("id", "kind")},
        {"write.parquet.compression-codec": "zstd"},
    )


def test_without_creation_the_keys_have_no_effect() -> None:
    ids = {"iceberg.tables.default-id-columns": "id", "iceberg.table.db.b.id-columns": "id, kind"}
    warnings = parse_iceberg_sink(BASE | KEYS | ids).warnings
    for key in KEYS | ids:
        assert any(text.startswith(f"{key} has no effect here") for text in warnings)
    assert not [text for text in parse_iceberg_sink(BASE | ON | KEYS).warnings if "no effect" in text]


def test_partitions_that_mean_nothing_are_refused() -> None:
    keys = {"iceberg.table.db.b.partition-by": "week(ts)"}
    assert any("there is no transform week" in text for text in parse_iceberg_sink(BASE | keys).error_texts())
