from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from frazil.minio.generators.generate import go_duration, records
from frazil.minio.records.kinds import TableKind
from frazil.minio.records.legacy import classify

START = datetime(2025, 12, 31, 23, 55, tzinfo=UTC)
KINDS: list[TableKind] = ["api", "error", "audit"]
RFC3339_NANO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?Z")


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_json_of_their_kind_with_increasing_times(kind: TableKind) -> None:
    made = [json.loads(record) for record in records(kind, 2000, seed=7, start=START)]
    assert len(made) == 2000
    assert {classify(record) for record in made} == {kind}
    times = [record["time"] for record in made]
    assert all(RFC3339_NANO.fullmatch(time) for time in times)
    instants = [datetime.fromisoformat(time) for time in times]
    assert all(a <= b for a, b in itertools.pairwise(instants))
    assert instants[0] >= START
    assert START + timedelta(minutes=9, seconds=50) < instants[-1] < START + timedelta(minutes=10)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_and_start_same_bytes(kind: TableKind) -> None:
    first = list(records(kind, 500, seed=1, odd=0.2, start=START))
    assert first == list(records(kind, 500, seed=1, odd=0.2, start=START))
    assert first != list(records(kind, 500, seed=2, odd=0.2, start=START))


def test_default_times_are_the_last_minutes() -> None:
    before = datetime.now(UTC)
    times = [datetime.fromisoformat(json.loads(record)["time"]) for record in records("api", 50)]
    assert before - timedelta(minutes=10, seconds=1) < times[0]
    assert times[-1] < datetime.now(UTC)


def test_api_records_have_about_860_bytes() -> None:
    sizes = [len(record) for record in records("api", 5000, seed=1)]
    assert 780 < sum(sizes) / len(sizes) < 940


def test_request_ids_differ_and_appear_twice_in_a_record() -> None:
    made = [json.loads(record) for record in records("api", 1000, seed=3)]
    infos = [record["callInfo"] for record in made if "callInfo" in record]
    assert len({info["requestID"] for info in infos}) == len(infos)
    assert all(info["responseHeader"]["X-Amz-Request-Id"] == info["requestID"] for info in infos)


def test_durations_fit_together() -> None:
    units = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}

    def nanos(text: str) -> float:
        number, unit = re.fullmatch(r"([0-9.]+)(ns|µs|ms|s)", text).groups()  # type: ignore[union-attr]
        return float(number) * units[unit]

    infos = [json.loads(record).get("callInfo", {}) for record in records("api", 2000, seed=3)]
    timed = [info for info in infos if "timeToFirstByte" in info]
    assert timed
    assert all(nanos(info["timeToFirstByte"]) <= nanos(info["timeToResponse"]) for info in timed)


@pytest.mark.parametrize(
    ("nanos", "text"),
    [(0, "0s"), (13, "13ns"), (1_000, "1µs"), (207_100, "207.1µs"), (5_000_000, "5ms"), (13_309_747, "13.309747ms"),
     (1_500_000_000, "1.5s"), (59_000_000_001, "59.000000001s")],
)  # fmt: skip
def test_go_duration(nanos: int, text: str) -> None:
    assert go_duration(nanos).decode() == text


@pytest.mark.parametrize("kind", KINDS)
def test_share_of_odd_records_and_mix(kind: TableKind) -> None:
    mix: Counter[str] = Counter()
    made = list(records(kind, 4000, seed=4, odd=0.05, mix=mix))
    odd = {label: n for label, n in mix.items() if label.startswith("odd: ")}
    assert mix.total() == len(made) == 4000
    assert len(odd) == 10
    assert 150 < sum(odd.values()) < 250


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="count -1"):
        records("api", -1)
    with pytest.raises(ValueError, match=r"odd 1\.5"):
        records("api", 1, odd=1.5)
    assert list(records("api", 0)) == []
