"""Parquet files: columns and row groups that depend on the records alone, values that are exact."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.connectors.objects.formats import columns, json_tables
from frazil.connectors.objects.formats.json_tables import Refused, in_groups
from frazil.connectors.objects.formats.parquet import write_parquet
from frazil.connectors.objects.verify import holds
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct


def written(*lines: bytes, schema: Struct | None = None, codec: str = "snappy") -> tuple[pa.Table, Refused]:
    out = BytesIO()
    refused = write_parquet(lambda: lines, schema, codec, out)
    out.seek(0)
    return (pa.table({}) if refused else pq.read_table(out)), refused


def rows(*lines: bytes) -> list[dict[str, Any]]:
    table, refused = written(*lines)
    assert refused == []
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_columns_without_a_schema() -> None:
    table, refused = written(
        b'{"z":1,"s":"x","o":{"q":true,"b":null},"l":[1,2.5],"t":"2024-01-01T00:00:00Z","n":null}',
        b'{"a":9,"z":2,"o":{"b":7}}',
    )
    assert refused == []
    assert table.schema == pa.schema(
        [
            ("z", pa.int64()),
            ("s", pa.string()),
            ("o", pa.struct([("q", pa.bool_()), ("b", pa.int64())])),
            ("l", pa.list_(pa.float64())),
            ("t", pa.string()),
            ("a", pa.int64()),
        ]
    )
    assert table.to_pylist()[1] == {"z": 2, "s": None, "o": {"q": None, "b": 7}, "l": None, "t": None, "a": 9}


def test_columns_that_few_records_have() -> None:
    lines = [b'{"a":%d}' % n for n in range(1000)]
    lines[300] = b'{"late":"x","a":300}'
    lines[700] = b'{"a":700,"later":{"f":1.5}}'
    lines[900] = b'{"later":{"g":true},"a":900.5}'
    table, refused = written(*lines)
    assert refused == []
    later = pa.struct([("f", pa.float64()), ("g", pa.bool_())])
    assert table.schema == pa.schema([("a", pa.float64()), ("late", pa.string()), ("later", later)])
    assert table.column("a").to_pylist() == [float(n) if n != 900 else 900.5 for n in range(1000)]
    assert table.slice(700, 1).to_pylist() == [{"a": 700.0, "late": None, "later": {"f": 1.5, "g": None}}]


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        ([b'{"a":1}', b'{"a":"x"}', b'{"a":{"b":2.50}}'], ["1", "x", '{"b":2.50}']),
        ([b'{"a":[1]}', b'{"a":2}'], ["[1]", "2"]),
        ([b'{"a":true}', b'{"a":0}'], ["true", "0"]),
        ([b'{"a":1}', b'{"a":2.5}'], [1.0, 2.5]),
        ([b'{"a":18446744073709551615}'], [Decimal(18446744073709551615)]),
        ([b'{"a":9223372036854775807}', b'{"a":-9223372036854775808}'], [2**63 - 1, -(2**63)]),
        ([b'{"a":null}', b'{"a":"x"}'], [None, "x"]),
    ],
)
def test_fields_with_values_of_different_kinds(lines: list[bytes], values: list[object]) -> None:
    assert [row["a"] for row in rows(*lines)] == values


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        ([b'{"a":false}', b'{"a":[]}'], ["false", "[]"]),
        ([b'{"a":[]}', b'{"a":1}'], ["[]", "1"]),
        ([b'{"a":[ null ]}', b'{"a":1.5}'], ["[ null ]", "1.5"]),
        ([b'{"a":{}}', b'{"a":1}'], ["{}", "1"]),
        ([b'{"a":{"b":null}}', b'{"a":[1]}'], ['{"b":null}', "[1]"]),
        ([b'{"a":[]}', b'{"a":{"b":1}}'], ["[]", '{"b":1}']),
        ([b'{"a":[]}', b'{"a":{}}'], ["[]", "{}"]),
        ([b'{"a":[[]]}', b'{"a":[1]}'], [["[]"], ["1"]]),
        ([b'{"a":{"b":[]}}', b'{"a":{"b":true}}'], [{"b": "[]"}, {"b": "true"}]),
        ([b'{"a":[]}', b'{"a":[1]}', b'{"a":null}'], [[], [1], None]),
    ],
)
def test_empty_arrays_and_objects_are_of_a_kind(lines: list[bytes], values: list[object]) -> None:
    assert [row["a"] for row in rows(*lines)] == values


_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text("xyz", max_size=3))
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("pq"), inner, max_size=2)),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.sampled_from("ab"), _VALUES, max_size=2), min_size=1, max_size=6))
def test_no_record_is_refused_for_the_kinds_of_its_values(records: list[dict[str, Any]]) -> None:
    lines = [json.dumps(record).encode() for record in records]
    for row, line in zip(rows(*lines), lines, strict=True):
        assert holds(row, line)


@pytest.mark.parametrize("line", [b"{}", b'{"a":null}', b'{"a":[]}'])
def test_records_without_columns_are_kept_as_text(line: bytes) -> None:
    assert rows(line, line) == [{"value": line.decode()}] * 2


def test_a_record_that_has_the_field_without_a_name_of_its_schema_is_refused_alone() -> None:
    inner = Struct((Field("", STRING), Field("x", Scalar("long"))))
    schema = Struct((Field("a", Scalar("long")), Field("", STRING), Field("l", List(inner))))
    lines = (b'{"a":1,"":null,"l":[{"x":2}]}', b'{"a":1,"":"v"}', b'{"l":[{"":"v","x":1}]}')
    _, refused = written(*lines, schema=schema)
    assert [index for index, _ in refused] == [1, 2]


def test_names_with_a_nul_are_columns_too() -> None:
    table, refused = written(rb'{"id":1,"k\u0000":1}', rb'{"id":2,"k":"x"}', rb'{"o":{"\u0000":[1]}}')
    assert not refused
    assert table.column_names == ["id", "k\0", "k", "o"]
    assert table.to_pylist()[0] == {"id": 1, "k\0": 1, "k": None, "o": None}
    assert table.to_pylist()[2]["o"] == {"\0": [1]}


def test_rows_are_in_the_order_of_the_records() -> None:
    lines = [b'{"n":%d,"s":%s}' % (n, b'"x"' if n % 3 else b"1") for n in range(100)]
    assert [row["n"] for row in rows(*lines)] == list(range(100))


SCHEMA = Struct(
    (
        Field("d", Scalar("decimal", precision=38, scale=2)),
        Field("day", Scalar("date")),
        Field("at", Scalar("timestamptz")),
        Field("b", Scalar("binary")),
        Field("i", Scalar("int")),
        Field("m", Map(STRING, Scalar("long"))),
        Field("l", List(STRING)),
    )
)


def test_columns_of_a_schema() -> None:
    table, refused = written(
        b'{"d":1.56,"day":10000,"at":4000000000,"b":"AJw=","i":5,"m":{"x":1},"l":["y",null]}', b"{}", schema=SCHEMA
    )
    assert refused == []
    first, second = table.to_pylist()
    assert first == {
        "d": Decimal("1.56"),
        "day": dt.date(1970, 1, 1) + dt.timedelta(10000),
        "at": dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=4_000_000_000),
        "b": b"\x00\x9c",
        "i": 5,
        "m": [("x", 1)],
        "l": ["y", None],
    }
    assert second == dict.fromkeys(first)


def test_structs_without_members_are_left_out_at_each_depth() -> None:
    empty = Struct(())
    inner = Struct((Field("meta", empty), Field("x", Scalar("long"))))
    several = (
        Field("l", List(empty)),
        Field("m", Map(STRING, empty)),
        Field("ll", List(List(Struct((Field("", empty),))))),
    )
    schema = Struct((Field("meta", empty), *several, Field("s", inner), Field("ls", List(inner))))
    table, refused = written(b'{"meta":{},"l":[{}],"m":{"k":{}},"s":{"meta":{},"x":1},"ls":[{"x":2}]}', schema=schema)
    assert (refused, table.to_pylist()) == ([], [{"s": {"x": 1}, "ls": [{"x": 2}]}])
    table, refused = written(b'{"meta":{}}', schema=Struct((Field("meta", empty),)))
    assert (refused, table.to_pylist()) == ([], [{"value": '{"meta":{}}'}])


def test_records_that_their_schema_does_not_fit_are_named() -> None:
    _, refused = written(b'{"i":1}', b'{"i":"x"}', b'{"i":2147483648}', schema=Struct((Field("i", Scalar("int")),)))
    assert [(index, error.path) for index, error in refused] == [(1, "i"), (2, "i")]


@pytest.mark.parametrize(
    ("codec", "name"),
    [
        ("none", "UNCOMPRESSED"),
        ("snappy", "SNAPPY"),
        ("gzip", "GZIP"),
        ("zstd", "ZSTD"),
        ("lz4_raw", "LZ4"),
        ("brotli", "BROTLI"),
    ],
)
def test_codecs(codec: str, name: str) -> None:
    out = BytesIO()
    write_parquet(lambda: [b'{"a":"' + b"x" * 500 + b'"}'], None, codec, out)
    out.seek(0)
    assert pq.ParquetFile(out).metadata.row_group(0).column(0).compression == name


def test_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_tables, "GROUP_BYTES", 20)
    monkeypatch.setattr(json_tables, "GROUP_ROWS", 3)
    lines = [b'{"a":1}'] * 4 + [b'{"a":11111111111111111}', b'{"a":1}']
    assert [len(group) for group in in_groups(lines)] == [2, 2, 1, 1]
    out = BytesIO()
    write_parquet(lambda: lines, None, "none", out)
    out.seek(0)
    metadata = pq.ParquetFile(out).metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [2, 2, 1, 1]


MEMBER = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
VALUE = st.recursive(
    MEMBER | st.text(), lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("abc"), v), max_leaves=6
)


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), VALUE), min_size=1, max_size=8), st.integers(1, 3))
def test_a_verdict_that_is_known_changes_nothing(records: list[object], sample: int) -> None:
    lines = [json.dumps(record).encode() for record in records]
    files: list[tuple[list[int], bytes]] = []
    for judged_again in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(columns, "_SAMPLE", sample)
            patch.setattr(json_tables, "_CHUNK_ROWS", 3)
            if judged_again:
                patch.setattr(columns, "_only_adds", lambda type_, before: False)
            out = BytesIO()
            refused = write_parquet(lambda: lines, None, "snappy", out)
            files.append(([index for index, _ in refused], out.getvalue()))
    assert files[0] == files[1]


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), VALUE), min_size=1, max_size=6))
def test_every_record_is_in_the_file_or_named_and_a_replay_writes_the_same_bytes(records: list[object]) -> None:
    lines = [json.dumps(record).encode() for record in records]
    first, second = BytesIO(), BytesIO()
    refused = write_parquet(lambda: lines, None, "snappy", first)
    assert [index for index, _ in refused] == [i for i, _ in write_parquet(lambda: lines, None, "snappy", second)]
    if not refused:
        assert first.getvalue() == second.getvalue()
        assert pq.read_table(BytesIO(first.getvalue())).num_rows == len(records)
