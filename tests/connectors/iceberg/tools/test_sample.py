"""Warnings of a sample of records for Iceberg tables."""

from __future__ import annotations

import pytest

from frazil.clients import catalog as catalogs
from frazil.connectors.iceberg.tools.sample import sample
from tests.connectors.iceberg.driver import SIMPLE, TABLE, Driver, memory
from tests.pipeline.transforms.chains import config


def test_a_misspelt_field_of_a_transformation_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = config(("ExtractField$Value", {"field": "payloda"}))
    transforms = {key: value for key, value in keys.items() if key.startswith("transforms")}
    with memory({TABLE: SIMPLE}) as (broker, catalog):
        monkeypatch.setattr(catalogs, "connect", lambda *_: catalog)
        driver = Driver(broker, catalog, transforms)
        broker.send("t", [b'{"payload":{"id":1}}', b'{"payload":{"id":2}}'])
        found = sample(driver.config, broker.records("t"), 3)
    assert [(one.verdict, one.reason) for one in found.judged] == [("skipped", "tombstone")] * 2
    assert found.warnings == ["transforms.t0.field: no record of 2 has the field payloda; there is payload"]
