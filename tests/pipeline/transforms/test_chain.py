from __future__ import annotations

import pytest

from frazil.pipeline.convert.decode import Decoded, DecodeSpec
from frazil.pipeline.shaped import decoded
from frazil.pipeline.transforms.chain import Transformer
from frazil.pipeline.transforms.declaration import TransformChain
from frazil.pipeline.types import STRING, Field, Scalar, Struct
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.transforms.chains import ICEBERG, KAFKA, chain

COLUMNS = Struct((Field("id", Scalar("long")), Field("name", STRING), Field("price", Scalar("decimal", 38, 20))))
TOMBSTONE = {"predicates__p__type": KAFKA + "predicates.RecordIsTombstone", "predicates": "p"}


def rows(values: list[bytes | None]) -> list[Row]:
    return [Row(offset, value, 1_700_000_000_123) for offset, value in enumerate(values)]


def decode(found: TransformChain, values: list[bytes | None], *, evolve: bool = True) -> Decoded:
    return decode_rows(found, rows(values), evolve=evolve)


def decode_rows(found: TransformChain, records: list[Row], *, evolve: bool = True) -> Decoded:
    transformed = Transformer(found).transform(chunk(records))
    found_rows = decoded(transformed.values, DecodeSpec(COLUMNS, evolve))
    found_rows.rejected += transformed.failed
    found_rows.skipped += transformed.dropped
    return found_rows


def test_positions_are_those_of_the_rows_that_were_read() -> None:
    found = chain(("Filter", {"predicate": "p"}), ("MaskField$Value", {"fields": "name"}), **TOMBSTONE)
    values = [b'{"id":1,"name":"a"}', None, b"[1]", b'{"id":"x"}', b"{", b"null", b'{"id":2}']

    decoded = decode(found, values)

    assert sorted(decoded.table.to_pylist(), key=str) == [
        {"id": 1, "name": "", "price": None},
        {"id": 2, "name": None, "price": None},
    ]
    assert sorted(decoded.skipped) == [1, 5]
    assert {index: str(error) for index, error in decoded.rejected} == {
        2: "transformation t1: the value is not an object but array",
        3: 'column id: the text is not an integer for type long ("x")',
        4: "the value is not JSON: Input data was truncated",
    }


def test_numbers_that_are_not_touched_are_exact() -> None:
    found = chain(("ReplaceField$Value", {"renames": "p:price"}))

    (row,) = decode(found, [b'{"p":123456789012345678.12345678901234567890}']).table.to_pylist()

    assert str(row["price"]) == "123456789012345678.12345678901234567890"


def test_a_record_that_no_transformation_is_for_stays_as_it_is() -> None:
    found = chain(
        ("MaskField$Value", {"fields": "name", "predicate": "p"}),
        predicates="p",
        predicates__p__type=KAFKA + "predicates.TopicNameMatches",
        predicates__p__pattern="other",
    )

    assert decode(found, [b'{"id":1,"name":"a"}']).table.to_pylist() == [{"id": 1, "name": "a", "price": None}]


def test_predicates_see_the_names_of_headers() -> None:
    found = chain(
        ("Filter", {"predicate": "p", "negate": "true"}),
        predicates="p",
        predicates__p__type=KAFKA + "predicates.HasHeaderKey",
        predicates__p__name="a",
    )

    headers = (('é"b', None), ("a", b"\xff"), ("a", None))
    decoded = decode_rows(found, [Row(0, b'{"id":1}'), Row(1, b'{"id":2}', headers=headers)])

    assert decoded.table.column("id").to_pylist() == [2]
    assert decoded.skipped == [0]


def test_keys_are_read_where_they_matter() -> None:
    found = chain((ICEBERG + "DebeziumTransform", {}), ("ReplaceField$Value", {"exclude": "_cdc"}))
    event = b'{"op":"c","after":{"id":1},"source":{"db":"d","table":"t"}}'

    decoded = decode_rows(found, [Row(0, event, key=b"k"), Row(1, event, key=b"\xff")])

    assert decoded.table.column("id").to_pylist() == [1]
    ((index, error),) = decoded.rejected
    assert (index, str(error)) == (1, "key: the value is not UTF-8 (byte 0)")


@pytest.mark.parametrize(
    ("target", "type_"), [("Date", "date"), ("Time", "time"), ("Timestamp", "timestamptz"), ("unix", "long")]
)
def test_new_columns_for_times_have_their_type(target: str, type_: str) -> None:
    found = chain(
        ("InsertField$Value", {"timestamp.field": "ts"}),
        ("TimestampConverter$Value", {"field": "ts", "target.type": target}),
        ("ReplaceField$Value", {"renames": "ts:at"}),
    )

    decoded = decode(found, [b'{"id":1}', b"{}"])

    assert {path: str(found) for path, found in decoded.unknown.items()} == {("at",): type_}


def test_new_columns_for_maps_are_maps() -> None:
    found = chain((ICEBERG + "JsonToMapTransform", {}))

    decoded = decode(found, [b'{"tags":{"a":1},"n":5}', b'{"tags":{"b":"x"},"m":{"c":1}}', b'{"m":5}'])

    assert {path: str(type_) for path, type_ in decoded.unknown.items()} == {
        ("tags",): "map<string, string>",
        ("n",): "long",
        ("m",): "string",  # a number in one record, a map in another
    }


def test_deep_nesting_is_an_error_of_the_record() -> None:
    deep = b'{"id":1,"deep":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}"

    decoded = decode(chain(("Flatten$Value", {})), [deep, b'{"id":2}'], evolve=False)

    assert decoded.table.column("id").to_pylist() == [2]
    ((index, error),) = decoded.rejected
    assert index == 0
    assert "nested too deeply" in str(error)


def test_invalid_text_in_what_is_touched_is_an_error_of_the_record() -> None:
    found = chain(("Cast$Value", {"spec": "id:int64"}))

    decoded = decode(found, [b'{"id":"\\ud800"}', b'{"id":"2"}'])

    assert decoded.table.column("id").to_pylist() == [2]
    assert [index for index, _ in decoded.rejected] == [0]
