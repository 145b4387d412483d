"""How members find their columns, and what a table lacks for records."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.pipeline.convert.decode import Decoded, DecodeSpec, RecordDecoder
from frazil.pipeline.convert.overrides import Overrides
from frazil.pipeline.types import STRING, Field, List, Map, Scalar, Struct, Type

INT, LONG, FLOAT, DOUBLE = (Scalar(kind) for kind in ("int", "long", "float", "double"))
INNER = Struct((Field("aB", INT),))
COLUMNS = Struct((Field("ii", INT), Field("St", INNER), Field("li", List(INNER)), Field("ma", Map(STRING, INNER))))


def decode(columns: Struct, *records: bytes, evolve: bool = True, **more: Any) -> Decoded:
    return RecordDecoder(DecodeSpec(columns, evolve, **more)).decode(records)


def rows(columns: Struct, *records: bytes, **more: Any) -> list[dict[str, Any]]:
    decoded = decode(columns, *records, **more)
    assert not decoded.rejected
    found: list[dict[str, Any]] = decoded.table.to_pylist()
    return found


@pytest.mark.parametrize("evolve", [True, False])
def test_names_in_any_case(evolve: bool) -> None:
    record = b'{"II":123,"st":{"Ab":1},"LI":[{"ab":2}],"Ma":{"K":{"AB":3}}}'
    (row,) = rows(COLUMNS, record, any_case=True, evolve=evolve)
    assert row == {"ii": 123, "St": {"aB": 1}, "li": [{"aB": 2}], "ma": [("K", {"aB": 3})]}
    assert decode(COLUMNS, record, evolve=False).table.to_pylist() == [{"ii": None, "St": None, "li": None, "ma": None}]


def test_new_columns_keep_the_case_of_the_record() -> None:
    decoded = decode(COLUMNS, b'{"II":1,"ST":{"NeW":1}}', any_case=True)
    assert decoded.unknown == {("St", "NeW"): LONG}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("evolve", [True, False])
@pytest.mark.parametrize(
    ("record", "path", "second"),
    [
        (b'{"ii":1,"II":2}', "ii", "II"),
        (b'{"ii":1,"II":null}', "ii", "II"),
        (b'{"St":{"AB":1,"aB":1}}', "St.aB", "aB"),
        (b'{"li":[{"ab":1,"aB":2}]}', "li[0].aB", "aB"),
        (b'{"ma":{"k":{"ab":1,"aB":2}}}', "ma['k'].aB", "aB"),
    ],
)
def test_two_fields_for_one_column_are_refused(
    record: bytes, path: str, second: str, evolve: bool, legacy: bool
) -> None:
    decoded = decode(COLUMNS, record, b'{"ii":3}', any_case=True, evolve=evolve, legacy=legacy)
    ((index, error),) = decoded.rejected
    assert (index, error.path, error.reason) == (0, path, f"two fields are for it, the second is {second}")
    assert decoded.table.column("ii").to_pylist() == [3]


def test_two_names_of_a_mapping_for_one_column_are_refused() -> None:
    ((_, error),) = decode(MAPPED, b'{"old":1,"renamed_ii":2}').rejected
    assert str(error) == "column ii: two fields are for it, the second is renamed_ii"


MAPPED = Struct((Field("ii", INT, aliases=("renamed_ii", "old")), Field("kept", INT), Field("lost", INT, aliases=())))


@pytest.mark.parametrize("evolve", [True, False])
def test_names_of_a_mapping(evolve: bool) -> None:
    records = [b'{"renamed_ii":123,"kept":1}', b'{"old":5}', b'{"kept":2}']
    found = rows(MAPPED, *records, evolve=evolve)
    assert sorted((row["ii"], row["kept"], row["lost"]) for row in found if row["ii"]) == [
        (5, None, None),
        (123, 1, None),
    ]
    assert [row["kept"] for row in found if not row["ii"]] == [2]


def test_the_mapping_takes_the_place_of_the_names() -> None:
    assert rows(MAPPED, b'{"ii":1,"lost":2,"RENAMED_II":3}', evolve=False) == [{"ii": None, "kept": None, "lost": None}]


def test_a_required_column_of_another_name() -> None:
    columns = Struct((Field("id", LONG, True, aliases=("key",)),))
    assert rows(columns, b'{"key":7}') == [{"id": 7}]
    assert decode(columns, b'{"id":7}', evolve=False).rejected


@pytest.mark.parametrize(
    ("column", "value", "wider"),
    [
        (INT, b"3000000000", LONG),
        (INT, b'"3000000000"', LONG),
        (INT, b"-2147483649", LONG),
        (INT, b"3e9", LONG),
        (FLOAT, b"1e300", DOUBLE),
        (FLOAT, b'"-1e300"', DOUBLE),
        (INT, b"1", None),
        (FLOAT, b"0.1", None),
    ],
)
def test_numbers_that_do_not_fit_need_a_wider_column(column: Type, value: bytes, wider: Type | None) -> None:
    columns = Struct((Field("v", column), Field("l", List(Struct((Field("v", column),))))))
    for record, path in ((b'{"v":%b}' % value, ("v",)), (b'{"l":[{"v":%b}]}' % value, ("l", "element", "v"))):
        decoded = decode(columns, record)
        assert decoded.unknown == ({} if wider is None else {path: wider})
        assert not decoded.rejected
        strict = decode(columns, record, evolve=False)
        assert len(strict.rejected) == (0 if wider is None else 1)


@pytest.mark.parametrize(
    ("column", "value"),
    [(INT, b"9223372036854775808"), (INT, b"1.5"), (LONG, b"9223372036854775808"), (FLOAT, b"1e999")],
)
def test_numbers_that_no_column_of_the_kind_holds_are_refused(column: Type, value: bytes) -> None:
    decoded = decode(Struct((Field("v", column),)), b'{"v":%b}' % value)
    assert len(decoded.rejected) == 1
    assert decoded.unknown == {}


def test_a_record_that_is_refused_needs_nothing() -> None:
    assert decode(COLUMNS, b'{"ii":3000000000,"St":5,"new":1}').unknown == {}


NEEDED = Struct(
    (
        Field("id", LONG, True, firm=True),
        Field("time", STRING, True),
        Field("in", Struct((Field("x", LONG, True),))),
        Field("li", List(LONG, True)),
    )
)


def test_required_columns_without_a_value() -> None:
    records = [b'{"id":1}', b'{"id":2,"time":null,"in":{}}', b'{"id":3,"time":"t","li":[null]}']
    assert len(decode(NEEDED, *records).rejected) == 3
    decoded = decode(NEEDED, *records, loosen=True)
    assert decoded.absent == {("time",), ("in", "x"), ("li", "element")}
    assert not decoded.rejected
    for record in (b'{"time":"t"}', b'{"id":null,"time":"t"}'):
        assert len(decode(NEEDED, record, loosen=True).rejected) == 1


def test_text_for_a_number_is_refused_beside_its_neighbours() -> None:
    decoded = decode(COLUMNS, b'{"ii":1}', b'{"ii":"many"}', b'{"St":5}', b'{"ii":2}')
    assert [index for index, _ in decoded.rejected] == [1, 2]
    assert decoded.table.column("ii").to_pylist() == [1, 2]


def overridden(**types: Type | None) -> Overrides:
    return Overrides(tuple((tuple(path.split("__")), type_) for path, type_ in types.items()))


def test_ignored_members_are_no_reason_for_care() -> None:
    overrides = overridden(junk=None, St__junk=None, li__element__junk=None)
    columns = overrides.mark(COLUMNS)
    record = b'{"ii":1,"junk":{"a":[1]},"St":{"aB":1,"junk":2},"li":[{"junk":"x"}],"other":1}'
    decoded = decode(columns, record, overrides=overrides)
    assert decoded.unknown == {("other",): LONG}
    plain = RecordDecoder(DecodeSpec(columns, True, overrides=overrides))
    assert plain._judge(b'{"ii":1,"junk":{"a":[1]},"St":{"aB":1,"junk":2},"li":[{"junk":"x"}]}')  # noqa: SLF001
    assert rows(columns, b'{"ii":1,"junk":5}', overrides=overrides)[0]["ii"] == 1


def test_types_of_new_columns_are_overridden() -> None:
    """Dynamic keys do not explode the schema."""
    text_map = Map(STRING, STRING)
    overrides = overridden(
        labels=text_map, raw=STRING, price=Scalar("decimal", 10, 2), p__x__labels=text_map, p__y=None
    )
    labels = b",".join(b'"key%d":%d' % (n, n) for n in range(500))
    decoded = decode(
        COLUMNS,
        b'{"labels":{%b,"KEY1":2},"raw":{"a":1},"price":"1.50","p":{"x":{"labels":{%b},"n":1},"y":5}}'
        % (labels, labels),
        b'{"labels":{},"raw":null,"p":{"y":5}}',
        overrides=overrides,
    )
    assert not decoded.rejected
    assert {path: str(type_) for path, type_ in decoded.unknown.items()} == {
        ("labels",): "map<string, string>",
        ("raw",): "string",
        ("price",): "decimal(10,2)",
        ("p",): "struct<x: struct<labels: map<string, string>, n: long>>",
    }
