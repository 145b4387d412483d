from __future__ import annotations

import msgspec
import pytest

from frazil.pipeline.convert.strict import StageError
from tests.pipeline.transforms.chains import ICEBERG, TABULAR, after, applied, chain, parsed


@pytest.mark.parametrize("package", [ICEBERG, TABULAR])
@pytest.mark.parametrize(("operation", "expected"), [("update", "U"), ("delete", "D"), ("insert", "I"), ("load", "I")])
def test_the_row_is_at_the_top_and_the_change_in_cdc(package: str, operation: str, expected: str) -> None:
    event = {
        "data": {"account_id": 1, "balance": 100},
        "metadata": {"operation": operation, "timestamp": "2026", "schema-name": "db", "table-name": "tbl"},
    }

    assert parsed(after((package + "DmsTransform", {}), msgspec.json.encode(event))) == {
        "account_id": 1,
        "balance": 100,
        "_cdc": {"op": expected, "ts": "2026", "source": "db.tbl"},
    }


@pytest.mark.parametrize("value", [b"{}", b'{"data":{}}', b'{"data":[],"metadata":{}}', b'{"data":null,"metadata":{}}'])
def test_it_drops_what_is_no_event(value: bytes) -> None:
    assert applied(chain((ICEBERG + "DmsTransform", {})), value) is None


def test_an_event_without_an_operation_is_an_error() -> None:
    with pytest.raises(StageError, match="metadata.operation is missing"):
        after((ICEBERG + "DmsTransform", {}), b'{"data":{},"metadata":{}}')
