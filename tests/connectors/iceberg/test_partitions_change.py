"""The partitions of a table change under a connector: every row is stored once, in files of either spec."""

from __future__ import annotations

import pytest

from frazil.connectors.iceberg.config.creation import partition_terms
from frazil.connectors.iceberg.tools.alter import Changes, alter
from tests.connectors.iceberg.driver import CHANGES, SIMPLE, TABLE, TOLERANT, Driver, memory, record


@pytest.mark.parametrize("how", ["append", "copy-on-write", "merge-on-read"])
def test_rows_are_stored_and_replaced_over_a_change_of_partitions(how: str) -> None:
    with memory({TABLE: SIMPLE}) as (broker, catalog):
        table = catalog.load_table(TABLE)
        if how != "append":
            with table.transaction() as transaction:
                transaction.set_properties(
                    {f"write.{what}.mode": how for what in ("delete", "update", "merge")} | {"format-version": "2"}
                )
        driver = Driver(broker, catalog, {**TOLERANT, **({} if how == "append" else CHANGES)})
        specs = ("bucket(id, 2)", "truncate(text, 1), bucket(id, 3)", "")
        for turn, spec in enumerate(specs, 1):
            broker.send("t", [record(n, text=f"{turn}", op="U") for n in range(10)])
            driver.drain()
            alter(catalog.load_table(TABLE), Changes(partition=partition_terms(spec)))
        broker.send("t", [record(n, text="last", op="U") for n in range(5, 10)])
        driver.drain()
        found = sorted((row["id"], row["text"]) for row in driver.rows(TABLE))
        if how == "append":
            assert found == sorted(
                [(n, f"{turn}") for turn in (1, 2, 3) for n in range(10)] + [(n, "last") for n in range(5, 10)]
            )
        else:
            assert found == [(n, "3" if n < 5 else "last") for n in range(10)]
