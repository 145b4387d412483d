from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.minio.records.redact import redact
from frazil.text.credentials import REDACTED, SENSITIVE_KEYS

MAP = pa.map_(pa.string(), pa.string())
SECRET = "AKIA/20251128/us-east-1"


def column(values: list[Any], kind: pa.DataType | None = None, name: str = "c") -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, kind or pa.string())], names=[name])


def redacted(values: list[Any], kind: pa.DataType | None = None, name: str = "c") -> list[Any]:
    result = redact(column(values, kind, name))
    result.validate(full=True)
    return list(result.column(0).to_pylist())


@pytest.mark.parametrize("key", sorted(SENSITIVE_KEYS))
def test_every_sensitive_key_in_any_case(key: str) -> None:
    for name in (key, key.upper(), key.title()):
        assert redacted([[(name, "s3cret"), ("Host", "h")]], MAP) == [[(name, REDACTED), ("Host", "h")]]
        assert redacted([f'{{"{name}" : "s3cret","a":1}}']) == [f'{{"{name}" : "{REDACTED}","a":1}}']
        assert redacted(["s3cret", None], name=name) == [REDACTED, None]


def test_a_key_must_match_as_a_whole() -> None:
    rows = [[("X-Authorization-Mode", "v"), ("continuation-token", "t"), ("cookies", "c")]]
    assert redact(batch := column(rows, MAP)) is batch


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/b/o?X-Amz-Signature=ab12&x=1", f"/b/o?X-Amz-Signature={REDACTED}&x=1"),
        ("/b/o?x-amz-signature=ab12", f"/b/o?x-amz-signature={REDACTED}"),
        (f"q?X-Amz-Credential={SECRET}&X-Amz-Date=1", f"q?X-Amz-Credential={REDACTED}&X-Amz-Date=1"),
        ("X-Amz-Credential=A%2F2025%2Fs3&d", f"X-Amz-Credential={REDACTED}&d"),
        ("http%3A%2F%2Fh%3FX-Amz-Security-Token%3Dabc%26y", f"http%3A%2F%2Fh%3FX-Amz-Security-Token%3D{REDACTED}%26y"),
        ('{"url":"http://h/?X-Amz-Signature=ab\\u0026z=1"}', f'{{"url":"http://h/?X-Amz-Signature={REDACTED}\\u0026z=1"}}'),
        ("/o?AWSAccessKeyId=A&Signature=ab%2Bc%3D&Expires=1", f"/o?AWSAccessKeyId=A&Signature={REDACTED}&Expires=1"),
        (
            "AWS4-HMAC-SHA256 Credential=A/s3, SignedHeaders=host, Signature=00ff",
            f"AWS4-HMAC-SHA256 Credential=A/s3, SignedHeaders=host, Signature={REDACTED}",
        ),
        ("X-Amz-Signature=", "X-Amz-Signature="),
        ("the signature of x=1", "the signature of x=1"),
        ("mysignature=1", "mysignature=1"),
        ("ü=ignature=", "ü=ignature="),
    ],
)  # fmt: skip
def test_parameters_in_text(text: str, expected: str) -> None:
    assert redacted([None, "clean", text, ""]) == [None, "clean", expected, ""]
    assert redacted([[("k", text), ("n", None)], None], MAP) == [[("k", expected), ("n", None)], None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"Cookie":["a=1","b=2"],"n":1}', f'{{"Cookie":"{REDACTED}","n":1}}'),
        (' [{"cookie":17},{"token":true}]', f' [{{"cookie":"{REDACTED}"}},{{"token":"{REDACTED}"}}]'),
        ('{"Authorization":"a\\"b\\\\","x":"y"}', f'{{"Authorization":"{REDACTED}","x":"y"}}'),
        ('{"Authorization":"cut in the mid', f'{{"Authorization":"{REDACTED}"'),
        ('{"Authorization":null}', '{"Authorization":null}'),
        ('{"x":"authorization"}', '{"x":"authorization"}'),
        ('not JSON "cookie":"kept"', 'not JSON "cookie":"kept"'),
    ],
)
def test_json_text(text: str, expected: str) -> None:
    assert redacted([text, None]) == [expected, None]
    assert redacted([[("requestHeader", text)]], MAP) == [[("requestHeader", expected)]]


def test_every_depth() -> None:
    kind = pa.struct([("callInfo", pa.struct([("requestHeader", MAP), ("lines", pa.list_(pa.string()))]))])
    row = {"callInfo": {"requestHeader": [("Cookie", "c")], "lines": ["ok", "Signature=abc"]}}
    expected = {"callInfo": {"requestHeader": [("Cookie", REDACTED)], "lines": ["ok", f"Signature={REDACTED}"]}}
    assert redacted([None, row, {"callInfo": None}], kind) == [None, expected, {"callInfo": None}]
    nested = pa.map_(pa.string(), pa.struct([("cookie", pa.string()), ("n", pa.int64())]))
    assert redacted([[("a", {"cookie": "c", "n": 1})]], nested) == [[("a", {"cookie": REDACTED, "n": 1})]]


def test_clean_data_is_returned_as_it_is() -> None:
    table = pa.table({"a": ["x=1", None], "m": pa.array([[("Host", "h")], None], MAP), "n": [1, 2]})
    assert redact(table) is table
    empty = table.slice(0, 0)
    assert redact(empty) is empty
    nulls = pa.table({"m": pa.array([None, None], MAP), "s": pa.array([None, ""], pa.string())})
    assert redact(nulls) is nulls


def test_schema_metadata_and_chunks_stay() -> None:
    fields = [pa.field("m", MAP, nullable=False, metadata={"PARQUET:field_id": "7"}), pa.field("n", pa.int32())]
    schema = pa.schema(fields, metadata={"k": "v"})
    rows = [[("Cookie", "c")], []]
    batch = pa.RecordBatch.from_arrays([pa.array(rows, MAP), pa.array([1, 2], pa.int32())], schema=schema)
    table = redact(pa.Table.from_batches([batch, batch.slice(1), batch]))
    assert table.schema.equals(schema, check_metadata=True)
    assert table.column("m").num_chunks == 3
    assert table.column("m").to_pylist() == [[("Cookie", REDACTED)], [], [], [("Cookie", REDACTED)], []]


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_text_types_that_would_pass_unread_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match="cannot redact a column of type"):
        redact(column(["a"], kind))


# Property: a row-wise oracle that shares no code with the module. Texts are made of pieces whose result is known.
calm = st.text(st.characters(exclude_characters='"{}[]:=%&\\', exclude_categories=["Cs"]), max_size=12)
keys = st.sampled_from(["Host", "Authorization", "COOKIE", "x-amz-security-token", "é", ""])


def oracle_key(key: str) -> bool:
    return key.lower() in {"authorization", "cookie", "x-amz-security-token"}


def oracle_json(value: object) -> object:
    if isinstance(value, dict):
        return {
            key: REDACTED if oracle_key(key) and not isinstance(item, dict) and item is not None else oracle_json(item)
            for key, item in value.items()
        }
    return [oracle_json(item) for item in value] if isinstance(value, list) else value


presigned = st.tuples(
    calm, st.sampled_from(["X-Amz-Signature=", "x-amz-credential=", "X-Amz-Security-Token%3D"]), calm
).map(lambda t: (f"{t[0]}?{t[1]}aB3/+%2F~&{t[2]}", f"{t[0]}?{t[1]}{REDACTED}&{t[2]}"))
scalars = st.none() | st.booleans() | st.integers() | calm
documents = st.dictionaries(
    keys, scalars | st.lists(scalars, max_size=2) | st.dictionaries(keys, scalars, max_size=2), max_size=3
)
json_texts = documents.map(lambda doc: (json.dumps(doc), json.dumps(oracle_json(doc))))
texts = st.one_of(calm.map(lambda text: (text, text)), presigned, json_texts, st.just((None, None)))
entries = st.lists(st.tuples(keys, texts), max_size=3)
rows = st.tuples(texts, st.none() | entries, st.none() | st.lists(texts, max_size=3))


@given(data=st.lists(rows, max_size=8), start=st.integers(0, 4), stop=st.integers(0, 8), large=st.booleans())
def test_against_a_row_wise_oracle(data: list[Any], start: int, stop: int, large: bool) -> None:
    text_type = pa.large_string() if large else pa.string()
    map_type = pa.map_(text_type, text_type)
    kind = pa.struct([("text", text_type), ("map", map_type), ("list", pa.large_list(text_type))])

    def pick(side: int) -> list[dict[str, Any]]:
        return [
            {
                "text": text[side],
                "map": None
                if pairs is None
                else [(k, REDACTED if side and oracle_key(k) and t[0] is not None else t[side]) for k, t in pairs],
                "list": None if items is None else [item[side] for item in items],
            }
            for text, pairs, items in data
        ]

    array = pa.array(pick(0), kind)
    batch = pa.RecordBatch.from_arrays([array, array.field(1)], names=["s", "m"]).slice(start, stop)
    result = redact(batch)
    result.validate(full=True)
    expected = pick(1)[start : start + stop]
    assert result.column(0).to_pylist() == expected
    assert result.column(1).to_pylist() == [row["map"] for row in expected]
    assert redact(result).equals(result)


def test_no_secret_is_left_in_generated_records() -> None:
    from frazil.minio.generators.generate import records

    made = [json.loads(record) for record in records("api", 500, seed=5)]
    headers = [list(r.get("callInfo", {}).get("requestHeader", {}).items()) for r in made]
    query = [list(r.get("callInfo", {}).get("requestQuery", {}).items()) for r in made]
    before = json.dumps([headers, query])
    after = json.dumps([redacted(headers, MAP), redacted(query, MAP)])
    assert len(re.findall(r"[0-9a-f]{64}", before)) > 400
    assert not re.findall(r"[0-9a-f]{64}|Credential=|eyJ", after)
