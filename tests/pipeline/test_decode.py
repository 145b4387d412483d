from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frazil.pipeline.arrow import arrow_schema
from frazil.pipeline.decode import Decoded, DecodeSpec, RecordDecoder, decoder
from frazil.pipeline.strict import ConversionError, Converter, parse_object
from frazil.pipeline.types import STRING, Field, Scalar, Struct
from tests.pipeline import documents, oracle

PLAIN_ROW = b'{"n":%d,"s":"before and after"}'
TABLE = documents.struct(Field("n", Scalar("int")), Field("s", STRING))


def decode(rows: Sequence[bytes | None], columns: Struct = TABLE, *, evolve: bool = False) -> Decoded:
    return RecordDecoder(DecodeSpec(columns, evolve)).decode(rows)


def alone(row: bytes, columns: Struct) -> dict[str, object] | str:
    """What the strict converter alone gives."""
    try:
        values = Converter(columns).row(parse_object(row))
    except ConversionError as error:
        return str(error)
    return oracle.stored(pa.Table.from_pylist([values], schema=arrow_schema(columns)), columns)[0]


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
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_chunk_gives_what_the_strict_converter_and_the_oracle_give_row_by_row(
    columns: Struct, evolve: bool, data: st.DataObject
) -> None:
    rows = data.draw(documents.chunks(columns))
    result = decoder(DecodeSpec(columns, evolve)).decode(rows)
    assert not result.skipped
    found = documents.positions(oracle.stored(result.table, columns))
    rejected = {index: str(error) for index, error in result.rejected}
    assert found.keys() | rejected.keys() == set(range(len(rows)))
    assert len(found) + len(rejected) == len(rows)
    for index, row in enumerate(rows):
        strict, slow = alone(row, columns), expected(row, columns)
        if index in rejected:
            assert (rejected[index], None) == (strict, slow)
        else:
            assert oracle.same(found[index], strict), (found[index], strict)
            assert oracle.same(found[index], slow), (found[index], slow)
