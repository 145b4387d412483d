"""Fields that transformations look for and that no record has."""

from __future__ import annotations

import logging

import pytest

from frazil.pipeline.envelope import JsonEnvelope
from frazil.pipeline.prepare import prepare
from frazil.pipeline.transforms.absent import absent_fields
from tests.pipeline.kafka_rows import Row, chunk, chunks
from tests.pipeline.transforms.chains import Step, chain, predicates

VALUE = b'{"payload":{"id":1,"Name":"x"},"at":5}'
MISSPELT: list[tuple[Step, str]] = [
    (("ExtractField$Value", {"field": "payloda"}), "t0.field: no record of 2 has the field payloda; there is payload"),
    (
        ("ExtractField$Value", {"field": "payload.name", "field.syntax.version": "V2"}),
        "t0.field: no record of 2 has the field payload.name; there is Name",
    ),
    (("ValueToKey", {"fields": "at,ids"}), "t0.fields: no record of 2 has the field ids; there is at, payload"),
    (("MaskField$Value", {"fields": "At"}), "t0.fields: no record of 2 has the field At; there is at"),
    (
        ("TimestampConverter$Value", {"field": "att", "target.type": "unix"}),
        "t0.field: no record of 2 has the field att; there is at",
    ),
    (("Cast$Value", {"spec": "a:string"}), "t0.spec: no record of 2 has the field a; there is at"),
    (("ReplaceField$Value", {"exclude": "ate"}), "t0.exclude: no record of 2 has the field ate; there is at"),
    (("ReplaceField$Value", {"renames": "ta:x"}), "t0.renames: no record of 2 has the field ta; there is at, payload"),
    (
        ("HeaderFrom$Value", {"fields": "t", "headers": "h", "operation": "copy"}),
        "t0.fields: no record of 2 has the field t; there is at",
    ),
    (
        ("org.apache.iceberg.connect.transforms.CopyValue", {"source.field": "payloads", "target.field": "x"}),
        "t0.source.field: no record of 2 has the field payloads; there is payload",
    ),
]


@pytest.mark.parametrize(("step", "told"), MISSPELT)
def test_a_field_that_no_record_has_is_told_with_those_near_it(step: Step, told: str) -> None:
    rows = chunk([Row(0, VALUE), Row(1, VALUE), Row(2, None)])
    assert absent_fields([rows], chain(step), None) == [f"transforms.{told}"]


@pytest.mark.parametrize(
    "step",
    [
        ("ExtractField$Value", {"field": "payload"}),
        ("ExtractField$Value", {"field": "payload.x", "field.syntax.version": "V2", "predicate": "tt"}),
        ("ExtractField$Value", {"field": "gone.x", "field.syntax.version": "V2"}),
        ("MaskField$Value", {"fields": "rare"}),
        ("Cast$Value", {"spec": "string"}),
    ],
)
def test_a_field_that_a_record_has_or_could_have_is_not_told(step: Step) -> None:
    rows = chunks([Row(0, b'{"payload":{"id":1},"gone":null}'), Row(1, b'{"payload":{},"gone":null,"rare":1}')])
    assert absent_fields(rows, chain(step, **predicates([step])), None) == []


def test_the_field_of_a_route_is_looked_for_behind_the_transformations() -> None:
    rows = [chunk([Row(0, VALUE)])]
    step: Step = ("ExtractField$Value", {"field": "payload"})
    route = "iceberg.tables.route-field"
    assert absent_fields(rows, chain(step), None, (route, ["id"])) == []
    assert absent_fields(rows, None, None, (route, ["id"])) == [
        f"{route}: no record of 1 has the field id; there is at, payload"
    ]


def test_records_with_a_schema_are_looked_into() -> None:
    schema = b'{"type":"struct","fields":[{"field":"id","type":"int32"}]}'
    rows = chunk([Row(0, b'{"schema":%s,"payload":{"id":7}}' % schema)])
    found = absent_fields([rows], chain(("ExtractField$Value", {"field": "ids"})), JsonEnvelope())
    assert found == ["transforms.t0.field: no record of 1 has the field ids; there is id"]


@pytest.mark.parametrize("count", [3, 100])
def test_a_task_says_once_that_nothing_is_left_of_records(count: int, caplog: pytest.LogCaptureFixture) -> None:
    step: Step = ("ExtractField$Value", {"field": f"payload{count}"})
    rows = chunk([Row(number, VALUE) for number in range(count)])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert set(prepare(rows, chain(step), envelope=None, columns=True).values.values) == {None}
    assert [one.getMessage() for one in caplog.records] == [
        f"topic t: transformations leave null of {count} records from partition 0, offset 0 on. "
        f"transforms.t0.field: no record of {min(count, 20)} has the field payload{count}; there is payload"
    ]


def test_deleted_rows_are_null_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    rows = chunk([Row(0, b'{"after":null}'), Row(1, None)])
    with caplog.at_level(logging.WARNING):
        prepare(rows, chain(("ExtractField$Value", {"field": "after"})), envelope=None, columns=True)
    assert not caplog.records
