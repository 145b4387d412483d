from __future__ import annotations

from dataclasses import replace

from bench.results import Results, typical

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
