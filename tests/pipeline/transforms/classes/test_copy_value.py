from __future__ import annotations

from tests.pipeline.transforms.chains import ICEBERG, TABULAR, after


def test_a_field_has_a_copy_under_another_name() -> None:
    for package in (ICEBERG, TABULAR):
        step = (package + "CopyValue", {"source.field": "data", "target.field": "data_copy"})
        assert after(step, b'{"id":123,"data":"foobar"}') == b'{"id":123,"data":"foobar","data_copy":"foobar"}'
        assert after(step, b'{"id":1}') == b'{"id":1,"data_copy":null}'
        assert after(step, None) is None
