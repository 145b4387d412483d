from __future__ import annotations

from typing import Any

import pytest

from frazil.connectors.iceberg.config.iceberg_sink import parse_iceberg_sink
from frazil.pipeline.convert.strict import StageError
from frazil.pipeline.rows import Rows
from frazil.pipeline.transforms.chain import Transformer
from tests.pipeline.kafka_rows import Row, chunk
from tests.pipeline.transforms.chains import Step, applied, chain, config, parsed, text

CLASS = "io.debezium.transforms.HeaderToValue"
STRING = "org.apache.kafka.connect.storage.StringConverter"


def step(headers: str, fields: str, operation: str = "copy") -> Step:
    return CLASS, {"headers": headers, "fields": fields, "operation": operation}


def value(headers: list[tuple[str, Any]], *steps: Step, **more: str) -> Any:
    made = applied(chain(*steps, **more), b'{"a":{"b":1}}', headers=headers)
    assert made is not None
    return parsed(text(made.value))


def test_headers_of_kafka_become_fields() -> None:
    rows: Rows = chunk([Row(0, b'{"a":1}', headers=(("h", b"5"), ("x", b"y")))])
    found = Transformer(chain(step("h", "b"))).transform(rows)
    assert found.values.values == [b'{"a":1,"b":5}']


@pytest.mark.parametrize(
    ("header", "expected"),
    [(b"5", 5), (b"1.50", 1.5), (b"true", True), (b"null", None), (b'[1,"x"]', [1, "x"]), (b'"q"', "q")]
    + [(b"text", "text"), (b"007", "007"), (b"", ""), (None, None), (b"2026-01-31", "2026-01-31")],
)
def test_values_are_what_their_text_shows(header: bytes | None, expected: Any) -> None:
    assert value([("h", header)], step("h", "f")) == {"a": {"b": 1}, "f": expected}


def test_a_text_converter_leaves_texts() -> None:
    assert value([("h", b"5")], step("h", "f"), header__converter=STRING)["f"] == "5"


def test_dots_lead_into_objects() -> None:
    found = value([("h", b"5"), ("i", b"6")], step("h,i", "a.c,n.o.p"))
    assert found == {"a": {"b": 1, "c": 5}, "n": {"o": {"p": 6}}}
    with pytest.raises(StageError, match="b is not an object but number"):
        value([("h", b"5")], step("h", "a.b.c"))


def test_moved_headers_are_gone_and_others_stay() -> None:
    headers = [("h", b"1"), ("k", b"2"), ("h", b"3")]
    made = applied(chain(step("h,none", "f,g", "move")), b"{}", headers=headers)
    assert made is not None
    assert parsed(text(made.value)) == {"f": 3}
    assert [name for name, _ in made.headers] == ["k"]


def test_a_tombstone_passes() -> None:
    made = applied(chain(step("h", "f")), None, headers=[("h", b"1")])
    assert made is not None
    assert made.value is None


@pytest.mark.parametrize(("headers", "fields"), [("a,b", "c"), ("", "c")])
def test_there_are_as_many_fields_as_headers(headers: str, fields: str) -> None:
    assert parse_iceberg_sink(config(step(headers, fields))).error_texts()
