from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frazil.pipeline.convert import infer
from frazil.pipeline.convert.arrow import arrow_schema
from frazil.pipeline.convert.decode import Decoded, DecodeSpec, RecordDecoder, decoder
from frazil.pipeline.convert.strict import ConversionError, Converter, Notes, parse_object
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct
from tests.pipeline import documents
from tests.pipeline.convert import oracle

PLAIN_ROW = b'{"n":%d,"s":"before and after"}'
TABLE = documents.struct(Field("n", Scalar("int")), Field("s", STRING))


def decode(rows: Sequence[bytes | None], columns: Struct = TABLE, *, evolve: bool = False) -> Decoded:
    return RecordDecoder(DecodeSpec(columns, evolve)).decode(rows)


def alone(row: bytes, columns: Struct, *, evolve: bool = False) -> dict[str, object] | str:
    """What the strict converter alone gives."""
    try:
        values = Converter(columns, empty_arrays=True).row(
            parse_object(row), Notes(lambda path, raw: None, lambda path, raw: None) if evolve else None
        )
    except ConversionError as error:
        return str(error)
    return oracle.stored(pa.Table.from_pylist([values], schema=arrow_schema(columns)), columns)[0]


def too_wide(row: bytes, columns: Struct) -> bool:
    """Whether a number needs a wider column, which evolution makes before any row of the batch is stored."""
    wide: list[object] = []
    Converter(columns, empty_arrays=True).row(
        parse_object(row), Notes(lambda path, raw: None, lambda path, raw: wide.append(path))
    )
    return bool(wide)


def expected(row: bytes, columns: Struct) -> dict[str, object] | None:
    try:
        return oracle.row(row, columns)
    except oracle.Rejected:
        return None


SCHEMAS = pytest.mark.parametrize(
    "columns",
    [documents.PLAIN, documents.FLAT, documents.NESTED, documents.REQUIRED],
    ids=["plain", "flat", "nested", "required"],
)


@SCHEMAS
@pytest.mark.parametrize("evolve", [False, True], ids=["loose", "evolve"])
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_chunk_gives_what_the_strict_converter_and_the_oracle_give_row_by_row(
    columns: Struct, evolve: bool, data: st.DataObject
) -> None:
    rows = data.draw(documents.chunks(columns))
    result = decoder(DecodeSpec(columns, evolve, empties="lenient")).decode(rows)
    assert not result.skipped
    found = documents.positions(oracle.stored(result.table, columns))
    rejected = {index: str(error) for index, error in result.rejected}
    assert found.keys() | rejected.keys() == set(range(len(rows)))
    assert len(found) + len(rejected) == len(rows)
    for index, row in enumerate(rows):
        strict, slow = alone(row, columns, evolve=evolve), expected(row, columns)
        if index in rejected:
            assert rejected[index] == strict
            assert slow is None or "cannot become a column" in rejected[index]
        else:
            assert oracle.same(found[index], strict), (found[index], strict)
            assert oracle.same(found[index], slow) or (evolve and too_wide(row, columns)), (found[index], slow)


HOSTILE: dict[str, bytes | None] = {
    "empty": b"",
    "blank": b" \n\t ",
    "form feed null": b"\x0cnull",
    "array": b'[{"n":1}]',
    "number": b"5",
    "text": b'"x"',
    "true": b"true",
    "BOM": b'\xef\xbb\xbf{"n":1}',
    "UTF-16": '{"n":1}'.encode("utf-16"),
    "two objects": b'{"n":1}{"n":2}',
    "two lines": b'{"n":1}\n{"n":2}',
    "trailing text": b'{"n":1} x',
    "trailing NUL": b'{"n":1}\0',
    "NUL": b"\0",
    "raw NUL in a text": b'{"s":"a\0b"}',
    "raw newline in a text": b'{"s":"a\nb"}',
    "invalid UTF-8 in a known field": b'{"s":"\xff"}',
    "invalid UTF-8 in an unknown field": b'{"z":"\xc3\x28"}',
    "invalid UTF-8 in an unknown name": b'{"\xff":1}',
    "encoded surrogate": b'{"s":"\xed\xa0\x80"}',
    "lone surrogate": b'{"s":"\\ud800"}',
    "lone surrogate in an unknown field": b'{"z":{"a":["\\udc00"]}}',
    "lone surrogate in a name": b'{"\\ud800":1}',
    "objects without end": b'{"z":' * 200_000,
    "200,000 arrays in a known field": b'{"s":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "200,000 objects in an unknown field": b'{"z":' * 200_000 + b"1" + b"}" * 200_000,
    "truncated": b'{"n":1',
    "1e400": b'{"n":1e400}',
    "1E999999999": b'{"n":1E999999999}',
    "exponent of 20 digits": b'{"n":1E99999999999999999999}',
    "5,000 digits": b'{"n":1' + b"0" * 5000 + b"}",
    "fraction": b'{"n":1e-400}',
    "5 MB of digits": b'{"n":' + b"1" * 5_000_000 + b"}",
    "5 MB of text": b'{"n":"' + b"1" * 5_000_000 + b'"}',
}


@pytest.mark.parametrize("evolve", [False, True], ids=["loose", "evolve"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_record_is_rejected_and_its_neighbours_are_stored(name: str, evolve: bool) -> None:
    result = decode([PLAIN_ROW % 0, HOSTILE[name], PLAIN_ROW % 2], evolve=evolve)
    assert sorted(result.table.column("n").to_pylist()) == [0, 2]
    assert set(result.table.column("s").to_pylist()) == {"before and after"}
    assert [index for index, _ in result.rejected] == [1]
    assert not result.skipped
    assert not result.unknown


def test_every_hostile_record_at_once() -> None:
    rows = [row for index, bad in enumerate(HOSTILE.values()) for row in (PLAIN_ROW % index, bad)]
    result = decode(rows, evolve=True)
    assert sorted(result.table.column("n").to_pylist()) == list(range(len(HOSTILE)))
    assert [index for index, _ in result.rejected] == list(range(1, 2 * len(HOSTILE), 2))


def test_a_record_that_asks_for_too_many_columns_is_refused_alone() -> None:
    rows = [b'{"n":0,"a":1}', b'{"n":1,"b":1,"c":{"d":1}}', b'{"n":2,"a":1,"e":null}', b'{"n":3,"f":{"g":"x"}}']
    result = RecordDecoder(DecodeSpec(TABLE, evolve=True, most_new_columns=(2, "max.new"))).decode(rows)
    ((index, error),) = result.rejected
    assert (index, str(error)) == (1, "the record would bring more than 2 new columns, as max.new allows")
    assert sorted(result.table.column("n").to_pylist()) == [0, 2, 3]
    assert infer.records(result.seen) == {("a",): 2, ("f",): 1, ("f", "g"): 1}


@pytest.mark.parametrize("row", [None, b"null", b" null\n"], ids=str)
def test_tombstones_are_skipped(row: bytes | None) -> None:
    result = decode([PLAIN_ROW % 0, row, PLAIN_ROW % 2])
    assert (result.skipped, result.rejected, result.table.num_rows) == ([1], [], 2)


STORED: dict[str, tuple[bytes, dict[str, object]]] = {
    "empty object": (b"{}", {"n": None, "s": None}),
    "newlines between members": (b'\n{\n"n"\n:\n1\n}\n', {"n": 1, "s": None}),
    "minus zero": (b'{"n":-0}', {"n": 0, "s": None}),
    "escaped NUL": (b'{"s":"a\\u0000b"}', {"n": None, "s": "a\0b"}),
    "emoji": ('{"s":"\U0001f600"}'.encode(), {"n": None, "s": "\U0001f600"}),
    "escaped emoji": (b'{"s":"\\ud83d\\uDE00"}', {"n": None, "s": "\U0001f600"}),
    "rare ideograph": ('{"s":"\U00020bb7"}'.encode(), {"n": None, "s": "\U00020bb7"}),
    "escaped rare ideograph": (b'{"s":"\\ud842\\udfb7"}', {"n": None, "s": "\U00020bb7"}),
    "escaped last code point": (b'{"s":"\\uDBFF\\uDFFF"}', {"n": None, "s": "\U0010ffff"}),
    "escaped backslash before ud842": (b'{"s":"\\\\ud842"}', {"n": None, "s": "\\ud842"}),
    "source text of an object": (b'{"s":{ "b" :1.50,"a":[]}}', {"n": None, "s": '{ "b" :1.50,"a":[]}'}),
    "source text of a number": (b'{"s":1E999999999}', {"n": None, "s": "1E999999999"}),
    "900 arrays": (b'{"s":' + b"[" * 900 + b"]" * 900 + b"}", {"n": None, "s": "[" * 900 + "]" * 900}),
    "5 MB text": (b'{"s":"' + b"x" * 5_000_000 + b'"}', {"n": None, "s": "x" * 5_000_000}),
    "duplicate names": (b'{"n":"x","n":1,"s":"a","s":null}', {"n": 1, "s": None}),
    "10,000 unknown members": (
        b'{"n":1,' + b",".join(b'"m%d":[%d]' % (i, i) for i in range(10_000)) + b"}",
        {"n": 1, "s": None},
    ),
}


@pytest.mark.parametrize("evolve", [False, True], ids=["loose", "evolve"])
@pytest.mark.parametrize("name", STORED)
def test_an_odd_record_is_stored_exactly(name: str, evolve: bool) -> None:
    row, values = STORED[name]
    result = decode([PLAIN_ROW % 7, row, PLAIN_ROW % 9], evolve=evolve)
    assert not result.rejected
    others = [r for r in result.table.to_pylist() if r["s"] != "before and after"]
    assert others == [values]


def test_a_name_in_another_case_is_ignored_or_refused() -> None:
    """A second column of the name would make the table unreadable for engines that ignore case."""
    assert decode([b'{"N":1}']).table.to_pylist() == [{"n": None, "s": None}]
    ((_, error),) = decode([b'{"N":1}'], evolve=True).rejected
    reason = "a field of this name cannot become a column of the table: it differs only in case from the column n"
    assert (error.path, error.reason) == ("N", reason)


def test_a_record_that_is_refused_chooses_no_names_for_the_others() -> None:
    refused, stored = b'{"n":1,"AB":1,"Ab":2}', b'{"n":2,"ab":3}'
    found = decode([refused, stored], evolve=True)
    assert [index for index, _ in found.rejected] == [0]
    assert found.unknown == {("ab",): Scalar("long")}


MAPS = documents.struct(
    Field("n", Scalar("int")),
    Field("m", Map(STRING, STRING)),
    Field("deep", List(documents.struct(Field("m", Map(STRING, Map(STRING, Scalar("int"))))))),
)


@pytest.mark.parametrize(
    ("document", "column", "value"),
    [
        (b'{"n":1,"m":{"a":"1","b":"2","a":"3"}}', "m", [("a", "3"), ("b", "2")]),
        (b'{"n":1,"m":{"a":"1","\\u0061":"2"}}', "m", [("a", "2")]),
        (b'{"n":1,"deep":[{"m":{"x":{"a":1,"a":2}}}]}', "deep", [{"m": [("x", [("a", 2)])]}]),
        (b'{"n":1,"m":{"a":"1"},"m":{"b":"2"}}', "m", [("b", "2")]),
    ],
    ids=["map", "escaped key", "nested map", "column"],
)
def test_the_last_of_two_equal_map_keys_wins(document: bytes, column: str, value: object) -> None:
    result = decode([b'{"n":0,"m":{"a":"0"}}', document, b'{"n":2,"m":{"a":"0"}}'], MAPS)
    rows = {row["n"]: row for row in result.table.to_pylist()}
    assert rows.keys() == {0, 1, 2}
    assert rows[1][column] == value
    assert rows[0]["m"] == rows[2]["m"] == [("a", "0")]


class TestEvolution:
    def test_unknown_fields_are_inferred_over_the_chunk(self) -> None:
        rows = [b'{"n":1,"a":1,"p":{"x":[1]}}', PLAIN_ROW % 2, b'{"n":3,"a":1.5,"p":{"y":true},"q":null}']
        result = decode(rows, evolve=True)
        assert result.unknown == {
            ("a",): Scalar("double"),
            ("p",): documents.struct(Field("x", List(Scalar("long"))), Field("y", Scalar("boolean"))),
        }
        assert sorted(result.table.column("n").to_pylist()) == [1, 2, 3]
        assert not decode(rows).unknown

    def test_a_rejected_record_changes_no_schema(self) -> None:
        for row in (b'{"z":1,"n":"x"}', b'{"n":"x","z":1}'):
            result = decode([row], evolve=True)
            assert len(result.rejected) == 1
            assert not result.unknown

    def test_deep_unknown_fields_are_text_from_some_depth_on(self) -> None:
        result = decode([b'{"n":1,"z":' + b"[" * 900 + b"1" + b"]" * 900 + b"}"], evolve=True)
        assert result.table.num_rows == 1
        assert str(result.unknown["z",]) == "list<" * 32 + "string" + ">" * 32


FLOATING = Struct(
    (
        Field("n", Scalar("long")),
        Field("d", Scalar("double")),
        Field("f", Scalar("float")),
        Field("s", documents.struct(Field("f", Scalar("float")))),
        Field("l", List(Scalar("float"))),
        Field("m", Map(STRING, Scalar("double"))),
    )
)


@pytest.mark.parametrize(
    "bad",
    [
        b'"d":9007199254740993',
        b'"d":-9007199254740993',
        b'"f":16777217',
        b'"f":3.141592653589793',
        b'"s":{"f":16777217}',
        b'"l":[0.5,null,16777217]',
        b'"m":{"a":0.5,"b":9007199254740993}',
        b'"f":123456e-50',
        b'"l":[1e-46]',
    ],
)
@pytest.mark.parametrize("count", [1, 100])
def test_a_number_that_would_lose_digits_is_refused_and_its_neighbours_keep_theirs(bad: bytes, count: int) -> None:
    """A hundred of them make their column one that is read from source text."""
    good = b'"d":9007199254740992,"f":0.1,"s":{"f":16777216},"l":[0.1,21.456789],"m":{"a":1e300}'
    rows = [b'{"n":%d,%b}' % (i, bad if i % 2 else good) for i in range(2 * count)]
    decoder = RecordDecoder(DecodeSpec(FLOATING, evolve=False))
    for _ in range(2):
        decoded = decoder.decode(rows)
        assert [index for index, _ in sorted(decoded.rejected, key=lambda one: one[0])] == list(range(1, 2 * count, 2))
        assert all("more digits than a" in str(error) for _, error in decoded.rejected)
        values = decoded.table.to_pylist()
        assert sorted(row["n"] for row in values) == list(range(0, 2 * count, 2))
        singles = [0.10000000149011612, 21.456789016723633]
        assert all(row["d"] == 2**53 and row["f"] == singles[0] and row["l"] == singles for row in values)
    assert decoder.raw_columns or count == 1


@pytest.mark.parametrize(
    "bad", [b'"d":1e-400', b'"f":-12.5E-0350 ', b'"m":{"a":0.%b1}' % (b"0" * 400), b'"l":[0,3e-999]']
)
def test_a_number_that_would_become_zero_is_refused_and_its_neighbours_are_stored(bad: bytes) -> None:
    good = b'"d":0,"f":-0.0,"s":{"f":1.4e-45},"l":[0.0,null],"m":{"3e-400":5e-324}'
    decoded = decode([b'{"n":%d,%b}' % (n, bad if n == 3 else good) for n in range(9)], FLOATING)
    assert [index for index, _ in decoded.rejected] == [3]
    assert "nearer to zero" in str(decoded.rejected[0][1])
    values = decoded.table.to_pylist()
    assert sorted(row["n"] for row in values) == [0, 1, 2, 4, 5, 6, 7, 8]
    assert all((row["d"], row["f"], row["l"]) == (0, 0, [0, None]) for row in values)
    assert all((row["s"], row["m"]) == ({"f": 2.0**-149}, [("3e-400", 5e-324)]) for row in values)


def test_a_float_column_becomes_double_where_the_schema_may_evolve() -> None:
    decoded = decode([b'{"f":0.5}', b'{"f":3.141592653589793}'], Struct((Field("f", Scalar("float")),)), evolve=True)
    assert decoded.unknown == {("f",): Scalar("double")}
    assert not decoded.rejected


def test_a_text_becomes_a_number_only_if_it_is_written_as_one() -> None:
    columns = Struct((Field("n", Scalar("long")), Field("zip", Scalar("long")), Field("yes", Scalar("boolean"))))
    texts = [b'"90210"', b'"00501"', b'"+49"', b'"1.20"', b'"NaN"', b"90210"]
    decoded = decode([b'{"n":%d,"zip":%b,"yes":"true"}' % (i, text) for i, text in enumerate(texts)], columns)
    assert sorted(decoded.table.column("n").to_pylist()) == [0, 5]
    assert set(decoded.table.column("zip").to_pylist()) == {90210}
    assert decode([b'{"yes":"TRUE"}'], columns).rejected


class TestLearning:
    """A column whose values are often not what it wants is read from source text in every record."""

    COLUMNS = documents.struct(
        Field("id", Scalar("int")), Field("details", STRING), Field("needed", STRING, required=True)
    )

    def learnt(self, *, evolve: bool) -> RecordDecoder:
        records = RecordDecoder(DecodeSpec(self.COLUMNS, evolve))
        for _ in range(2):
            rows = [b'{"id":%d,"details":{"a":%d},"needed":[%d]}' % (i, i, i) for i in range(100)]
            result = records.decode(rows)
            found = sorted(result.table.to_pylist(), key=lambda row: row["id"])
            assert found == [{"id": i, "details": f'{{"a":{i}}}', "needed": f"[{i}]"} for i in range(100)]
        return records

    @pytest.mark.parametrize("evolve", [False, True])
    def test_every_record_is_as_the_strict_converter_has_it(self, evolve: bool) -> None:
        records = self.learnt(evolve=evolve)
        rows = [
            b'{"id":0,"details":{"a" : 1},"needed":"x"}',
            b'{"id":1,"details":"text","needed":1.50}',
            b'{"id":2,"details":null,"needed":"\\u00e9"}',
            b'{"id":3,"needed":true}',
            b'{"id":4,"details":"x"}',
            b'{"id":5,"details":"x","needed":null}',
            b'{"id":6,"details":"\xff","needed":"x"}',
            b'{"id":7,"details":"\\ud800","needed":"x"}',
            b'{"id":"8","details":"a","details":{"b":2},"needed":"x"}',
            b'{"id":9.5,"details":{},"needed":"x"}',
            b'{"id":10,"details":"\\ud842\\udfb7","needed":["\\ud842\\udfb7"]}',
            b'{"id":11,"details":{},"needed":"x"',
        ]
        result = records.decode(rows)
        found = {row["id"]: row for row in result.table.to_pylist()}
        rejected = {index: str(error) for index, error in result.rejected}
        assert found.keys() | rejected.keys() == set(range(12))
        for index, row in enumerate(rows):
            assert alone(row, self.COLUMNS) == found.get(index, rejected.get(index))


class TestLearningAnyType:
    COLUMNS = documents.struct(
        Field("id", Scalar("int")),
        Field("info", documents.struct(Field("size", Scalar("int")), Field("at", Scalar("timestamptz")))),
        Field("sizes", List(Scalar("int"))),
        Field("by", Map(STRING, Scalar("double"))),
    )
    ODD = b'{"id":%d,"info":{"size":"%d","at":%d},"sizes":["%d"],"by":{"x":"%d"}}'
    ROWS = (
        b'{"id":0,"info":{"size":1,"at":"2026-01-01T00:00:00Z"},"sizes":[1,null],"by":{"x":1.5}}',
        b'{"id":1,"info":{"size":"+2","at":1767225600123},"sizes":null,"by":{"x":"1e3","x":null}}',
        b'{"id":2,"info":null}',
        b'{"id":3}',
        b'{"id":4,"info":{"size":3000000000},"sizes":[3000000000]}',
        b'{"id":5,"info":{"size":1,"new":true}}',
        b'{"id":6,"info":[]}',
        b'{"id":7,"info":{"size":"x"},"sizes":[]}',
        b'{"id":8,"info":{"size":1},"info":{"size":"2"}}',
        b'{"id":9,"info":{"size":1,"at":"\xff"}}',
        b'{"id":10,"by":{"x":"' + b'"}',
    )

    @pytest.mark.parametrize("evolve", [False, True])
    def test_every_record_is_as_the_strict_converter_has_it(self, evolve: bool) -> None:
        records = RecordDecoder(DecodeSpec(self.COLUMNS, evolve))
        for _ in range(4):
            records.decode([self.ODD % ((i,) * 5) for i in range(100)])
        result = records.decode(self.ROWS)
        fresh = RecordDecoder(DecodeSpec(self.COLUMNS, evolve)).decode(self.ROWS)
        assert (result.unknown, result.absent) == (fresh.unknown, fresh.absent)
        assert {i: str(e) for i, e in result.rejected} == {i: str(e) for i, e in fresh.rejected}
        by_id = [{row["id"]: row for row in each.table.to_pylist()} for each in (result, fresh)]
        assert by_id[0] == by_id[1]
        assert len(by_id[0]) + len(result.rejected) == len(self.ROWS)

    def test_seldom_failures_are_not_learnt(self) -> None:
        records = RecordDecoder(DecodeSpec(self.COLUMNS, evolve=True))
        plain = b'{"id":%d,"info":{"size":1}}'
        for _ in range(70):
            records.decode([self.ODD % ((0,) * 5), *(plain % i for i in range(99))])
        assert records.raw_columns == frozenset()

    def test_one_column_is_left_to_arrow(self) -> None:
        records = RecordDecoder(DecodeSpec(documents.struct(Field("id", Scalar("int"))), evolve=False))
        for _ in range(3):
            result = records.decode([b'{"id":"%d"}' % i for i in range(100)])
            assert sorted(result.table.column("id").to_pylist()) == list(range(100))


@dataclass(frozen=True)
class Upper:
    """Takes records with `old_n` for those with `n`, refuses those with `bad`, and hides one text."""

    markers: tuple[str, ...] = ("old_n", "bad")

    def map(self, members: Mapping[str, msgspec.Raw]) -> Mapping[str, msgspec.Raw]:
        if "bad" in members:
            raise ValueError("a record of another kind")
        return {"n" if name == "old_n" else name: raw for name, raw in members.items()}

    def redact(self, table: pa.Table) -> pa.Table:
        hidden = pa.array(["***" if text == "secret" else text for text in table.column("s").to_pylist()])
        return table.set_column(table.schema.get_field_index("s"), "s", hidden)


@pytest.mark.parametrize("evolve", [False, True])
def test_a_mapper_gets_marked_records_and_the_rows_of_all(evolve: bool) -> None:
    spec = DecodeSpec(TABLE, evolve, Upper())
    rows = [b'{"n":0,"s":"secret"}', b'{"old_n":1,"s":"secret"}', b'{"n":2,"bad":true}', b'{"n":"3","s":"x"}']
    result = decoder(spec).decode(rows)
    assert sorted(map(tuple, (row.values() for row in result.table.to_pylist()))) == [(0, "***"), (1, "***"), (3, "x")]
    assert [(index, str(error)) for index, error in result.rejected] == [(2, "a record of another kind")]
    assert decoder(DecodeSpec(TABLE, evolve, Upper())) is decoder(spec)


def test_no_records_give_an_empty_table() -> None:
    result = decode([])
    assert (result.table.num_rows, result.table.schema) == (0, arrow_schema(TABLE))


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00"])
def test_a_time_that_its_offset_moves_out_of_the_calendar_is_rejected(text: str) -> None:
    columns = documents.struct(Field("n", Scalar("int")), Field("t", List(Scalar("timestamptz"))))
    rows = [b'{"n":0,"t":["9999-12-31T23:59:59Z"]}', f'{{"n":1,"t":["{text}"]}}'.encode(), b'{"n":2}']
    result = decode(rows, columns)
    assert result.table.column("n").to_pylist() == [0, 2]
    assert [(i, error.path) for i, error in result.rejected] == [(1, "t[0]")]
