"""Columns that a few odd records make text for good: said in the log and in a sample, with the key that keeps them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.tools.sample import sample
from tests.connectors.iceberg.driver import CREATE, EVOLVE, TABLE, TOLERANT, Driver, Memory


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        (
            [1] * 19 + ["x"],
            "column o.x becomes text for good, since 1 of 20 records have another value there than long",
        ),
        ([True] * 10 + [None] * 5 + [1], "since 1 of 11 records have another value there than boolean"),
        ([1] * 10 + [1.5] * 9 + ["x"], "since 1 of 20 records have another value there than double"),
        ([{"a": 1}] * 19 + ["x"], "since 1 of 20 records have another value there than object. Correct the producer:"),
        (["x"] * 19 + [1], None),
        ([1] * 15 + ["x"] * 5, None),
        ([1] * 19 + [1.5], None),
        ([1] * 20, None),
    ],
)
@pytest.mark.parametrize("new", [True, False])
def test_a_column_that_few_records_make_text_is_told(
    none: Memory,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    values: list[Any],
    warning: str | None,
    new: bool,
) -> None:
    broker, catalog = none
    monkeypatch.setattr(catalogs, "connect", lambda *_: catalog)
    driver = Driver(broker, catalog, {**CREATE, **EVOLVE, **TOLERANT})
    if not new:
        broker.send("t", [b'{"id":0}'])
        driver.drain()
    begin = broker.ends("t")
    broker.send("t", [json.dumps({"id": i, "o": {"x": value}}).encode() for i, value in enumerate(values)])
    records = [one for part in broker.read_ranges(begin, broker.ends("t")) for one in part]
    told = sample(driver.config, records, 0).tables[0].warnings
    driver.drain()
    assert [message.removeprefix("connector c, table db.landing: ") for message in caplog.messages] == told
    assert len(told) == (warning is not None)
    assert warning is None or warning in told[0]
    assert not broker.letters("t-dlq")


def test_the_key_that_is_named_keeps_the_type(none: Memory, caplog: pytest.LogCaptureFixture) -> None:
    broker, catalog = none
    broker.send("t", [json.dumps({"id": i, "x": "odd" if i == 7 else i}).encode() for i in range(30)])
    Driver(broker, catalog, {**CREATE, **EVOLVE, **TOLERANT}).drain()
    key, _, type_ = caplog.messages[0].partition(" keeps that type")[0].rpartition(" ")[2].partition("=")
    catalog.drop_table(TABLE)
    driver = Driver(broker, catalog, {**CREATE, **EVOLVE, **TOLERANT, key: type_, "name": "again"})
    driver.drain()
    assert driver.column(TABLE, "x") == [i for i in range(30) if i != 7]
    assert list(broker.letters("t-dlq")) == [("t", 0, 7, "")]
