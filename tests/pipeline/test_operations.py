"""Which of many changes delete their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from frazil.pipeline.operations import divided
from frazil.pipeline.types import STRING, Field, List, Scalar, Struct, Type
from frazil.pipeline.values import Columns, Prepared, Values


def columns(type_: Type, arrow: pa.DataType, values: list[Any]) -> Columns:
    """Records with `in.op` of a type; None for one without `in`."""
    rows = [None if value is None else {"op": None if value == "null" else value} for value in values]
    inner = pa.array(rows, pa.struct([("op", arrow)]))
    struct = pa.StructArray.from_arrays([inner], ["in"])
    shape = Struct((Field("in", Struct((Field("op", type_),))),))
    return Columns(struct=struct, shape=shape, at=np.arange(len(rows)), read=lambda some: Prepared(Values([])))


def test_texts_tell_deletes_by_their_first_letter() -> None:
    part = columns(STRING, pa.string(), ["D", " delete", None, "null", "u", "", "\u00a0d", "ID"])
    for some, deletes in ((np.arange(8), [0, 1, 6]), (np.array([2, 6, 7]), [1])):
        found = divided(part.only(some), ("in", "op"))
        assert found.deletes.tolist() == deletes
        assert sorted([*found.deletes, *found.others]) == list(range(len(some)))
        assert not len(found.left)


@pytest.mark.parametrize(
    ("type_", "arrow", "value", "path", "left"),
    [
        (Scalar("long"), pa.int64(), 1, ("in", "op"), False),
        (Scalar("boolean"), pa.bool_(), True, ("in", "op"), False),
        (STRING, pa.string(), "D", ("in", "other"), False),
        (STRING, pa.string(), "D", ("other", "op"), False),
        (STRING, pa.string(), "D", (), True),
        (Scalar("binary"), pa.binary(), b"D", ("in", "op"), True),
        (List(STRING), pa.list_(pa.string()), ["D"], ("in", "op"), True),
        (STRING, pa.string(), "D", ("in", "op", "deeper"), True),
    ],
)
def test_what_is_no_text_tells_no_delete_or_is_looked_at(
    type_: Type, arrow: pa.DataType, value: Any, path: tuple[str, ...], left: bool
) -> None:
    found = divided(columns(type_, arrow, [value, None]), path)
    assert (found.deletes.tolist(), found.others.tolist(), found.left.tolist()) == (
        ([], [], [0, 1]) if left else ([], [0, 1], [])
    )


def test_nothing_is_deleted_without_a_path() -> None:
    assert divided(columns(STRING, pa.string(), ["D"]), None).others.tolist() == [0]
