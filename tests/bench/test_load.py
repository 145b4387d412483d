from __future__ import annotations

import time

import msgspec
import pytest
from bench.load import Pace, audit_records, careful_records, fixed_records, malformed_records, spread_records


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
    assert pace.worst_delay <= max(at - (pace.first + index / pace.rate) for index, (_, at) in enumerate(handed))


def test_records_that_fell_behind_count_as_late() -> None:
    pace = Pace(first=time.time() - 2, rate=1000)
    assert len(list(pace([b""] * 40))) == 40
    assert pace.worst_delay > 1.9


def test_a_stopped_pace_hands_out_nothing_more() -> None:
    pace = Pace(first=time.time() + 3600, rate=10)
    pace.stop()
    assert list(pace([b"never"])) == []


def test_records_that_need_care_are_those_of_the_plain_ones_but_for_one_text() -> None:
    for plain, careful in zip(fixed_records("api", 50), careful_records(50), strict=True):
        before, after = msgspec.json.decode(plain), msgspec.json.decode(careful)
        before["callInfo"]["httpStatusCode"] = str(before["callInfo"]["httpStatusCode"])
        assert before == after


def test_one_record_in_ten_is_malformed() -> None:
    records = list(malformed_records(50, 10))
    bad = [index for index, record in enumerate(records) if not record.endswith(b"}")]
    assert bad == [9, 19, 29, 39, 49]
    for index in bad:
        with pytest.raises(msgspec.DecodeError):
            msgspec.json.decode(records[index])


def test_records_of_many_buckets() -> None:
    records = [msgspec.json.decode(record) for record in spread_records(40, 7)]
    assert len({record["bucket"] for record in records if "bucket" in record}) == 7
