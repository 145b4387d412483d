from __future__ import annotations

from dataclasses import replace

from bench.results import Results, Spread, typical

from tests.bench.samples import drained


def test_the_typical_run_is_the_one_of_median_rate() -> None:
    runs = [drained(seconds=seconds) for seconds in (10, 30, 20)]
    assert typical(runs).seconds == 20
    assert typical(runs[:2]).seconds == 30


def test_a_table_is_exact_when_it_has_every_record_once() -> None:
    good = drained()
    assert good.exact
    assert replace(good, distinct=1000).exact
    assert not replace(good, distinct=999).exact
    assert not replace(good, rows=1001).exact


def test_results_are_good_without_failures_and_wrong_tables() -> None:
    assert Results({}, drains=[drained()]).good
    assert not Results({}, drains=[drained()], failures={"latency": "no rows"}).good
    assert not Results({}, backlog=[drained(rows=999)]).good


def test_refused_records_are_no_rows() -> None:
    assert replace(drained(rows=990), refused=10).exact
    assert not replace(drained(rows=990), refused=9).exact
    assert not Results({}, malformed=[drained(rows=990)]).good
    assert not Results({}, strict=[drained(rows=990)]).good


def test_files_of_the_worst_commit() -> None:
    assert Spread(1000, [(500, 200, 400, 2), (500, 100, 150, 1)]).files_per_value_and_task == 1.5
