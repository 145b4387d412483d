from __future__ import annotations

import time

import msgspec
from bench.load import Pace, audit_records, fixed_records


def test_the_records_are_the_same_in_every_run() -> None:
    assert list(fixed_records("api", 50)) == list(fixed_records("api", 50))


def test_audit_records_have_one_form_of_details() -> None:
    for form, kind in (("text", str), ("object", dict)):
        records = [msgspec.json.decode(record) for record in audit_records(200, form)]  # type: ignore[arg-type]
        assert len(records) == 200
        assert {type(record["details"]) for record in records} == {kind}


def test_no_record_is_handed_out_before_it_is_due() -> None:
    pace = Pace(first=time.time() + 0.05, rate=1000)
    handed = [(value, time.time()) for value in pace([b"%d" % i for i in range(60)])]
    assert [value for value, _ in handed] == [b"%d" % i for i in range(60)]
    assert all(at >= pace.first + index / pace.rate for index, (_, at) in enumerate(handed))
    assert pace.worst_delay >= 0


def test_records_that_fell_behind_count_as_late() -> None:
    pace = Pace(first=time.time() - 2, rate=1000)
    assert len(list(pace([b""] * 40))) == 40
    assert pace.worst_delay > 1.9


def test_a_stopped_pace_hands_out_nothing_more() -> None:
    pace = Pace(first=time.time() + 3600, rate=10)
    pace.stop()
    assert list(pace([b"never"])) == []
