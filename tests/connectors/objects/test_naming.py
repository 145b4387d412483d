"""Names of objects, as Kafka Connect's S3 sink gives them."""

from __future__ import annotations

import pytest

from frazil.connectors.objects.config.object_sink import FormatConfig, Layout
from frazil.connectors.objects.naming import Kind, extension, folder, object_name


@pytest.mark.parametrize(
    ("layout", "offset", "expected"),
    [
        (Layout(pad=2), 3, "topics/t/partition=12/t+12+03.avro"),
        (Layout(topics_dir=""), 0, "t/partition=12/t+12+0000000000.avro"),
        (Layout("a/b", "|", "-", 0), 12345678901, "a/b|t|partition=12|t-12-12345678901.avro"),
    ],
)
def test_names_follow_the_layout(layout: Layout, offset: int, expected: str) -> None:
    assert object_name(layout, folder(layout, "t", "partition=12"), "t", 12, offset, "data", ".avro") == expected


@pytest.mark.parametrize(
    ("kind", "ext", "expected"),
    [
        ("data", ".json", "f/a.avro.b+0+0000000007.json"),
        ("keys", ".avro", "f/a.avro.b+0+0000000007.keys.avro"),
        ("headers", ".snappy.parquet", "f/a.avro.b+0+0000000007.headers.snappy.parquet"),
    ],
)
def test_keys_and_headers_have_names_beside_the_values(kind: Kind, ext: str, expected: str) -> None:
    assert object_name(Layout(), "f/", "a.avro.b", 0, 7, kind, ext) == expected


@pytest.mark.parametrize(
    ("format_", "expected"),
    [
        (FormatConfig("json"), ".json"),
        (FormatConfig("json", -1), ".json.gz"),
        (FormatConfig("bytes"), ".bin"),
        (FormatConfig("bytes", 9), ".bin.gz"),
        (FormatConfig("bytes", extension=".x"), ".x"),
        (FormatConfig("bytes", 1, extension=".x"), ".x.gz"),
        (FormatConfig("parquet", codec="none"), ".parquet"),
        (FormatConfig("parquet"), ".snappy.parquet"),
        (FormatConfig("parquet", codec="gzip"), ".gz.parquet"),
        (FormatConfig("parquet", codec="zstd"), ".zstd.parquet"),
        (FormatConfig("parquet", codec="lz4_raw"), ".lz4raw.parquet"),
        (FormatConfig("parquet", codec="brotli"), ".br.parquet"),
    ],
)
def test_extensions_tell_format_and_compression(format_: FormatConfig, expected: str) -> None:
    assert extension(format_) == expected
