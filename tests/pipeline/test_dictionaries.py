"""Columns of Parquet files that get no dictionary."""

from __future__ import annotations

from io import BytesIO
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from frazil.pipeline.dictionaries import with_dictionary

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "kind": pa.string(),
        "name": pa.string(),
        "user": pa.int64(),
        "price": pa.decimal128(9, 2),
        "tags": pa.list_(pa.int64()),
        "in": pa.struct({"id": pa.int64(), "deep": pa.struct({"n": pa.int32()})}),
        "map": pa.map_(pa.string(), pa.list_(pa.int64())),
        "rare": pa.string(),
        "at": pa.timestamp("us", "UTC"),
        "a.b": pa.float64(),
    }
)


def table(count: int) -> pa.Table:
    chance = Random(1)
    rows: list[dict[str, Any]] = [
        {
            "id": n,
            "kind": f"k{n % 7}",
            "name": f"name {n}",
            "user": chance.randrange(20_000),
            "price": n % 100,
            "tags": [n],
            "in": {"id": n, "deep": {"n": n}},
            "map": {"k": [n]},
            "rare": f"rare {n}" if n % 9 == 0 else None,
            "at": n,
            "a.b": chance.random(),
        }
        for n in range(count)
    ]
    half = count // 2
    return pa.concat_tables([pa.Table.from_pylist(part, schema=SCHEMA) for part in (rows[:half], rows[half:])])


def test_columns_whose_values_hardly_repeat_get_none() -> None:
    made, out = table(30_000), BytesIO()
    pq.write_table(made, out, use_dictionary=with_dictionary(made))
    group = pq.ParquetFile(out).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    plain = {column.path_in_schema for column in columns if not column.has_dictionary_page}
    assert plain == {"id", "name", "at", "a.b"}
    assert pq.read_table(out).equals(made)


def test_all_columns_of_few_rows_get_one() -> None:
    assert with_dictionary(table(1000)) is True
    assert with_dictionary(table(0)) is True


def test_columns_that_repeat_get_one() -> None:
    assert with_dictionary(pa.table({"n": [n % 3 for n in range(5000)], "none": pa.nulls(5000, pa.int64())})) is True
