from __future__ import annotations

import json
from dataclasses import replace

from bench.markdown import markdown_table
from bench.report import to_json, to_markdown
from bench.results import IdleWorker, Latency, Limit, ManyConnectors, ObjectDrain, ObjectRate, Question, Results, Spread

from tests.bench.samples import drained

LATENCY = Latency("frazil", 5000, 1000, 990, 5.0, 9.5, 10.25, 1.5, 0.02, 0.4, 1 << 30, 6)


def test_a_markdown_table_has_one_line_per_row() -> None:
    assert markdown_table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"


def test_ratios_say_how_many_times_better_frazil_is() -> None:
    peer = replace(drained("peer-1", "Kafka Connect, 1 task", seconds=30), cpu_s=15, peak_pss=150 << 20)
    text = to_markdown(Results({}, drains=[drained(), peer]))
    assert "| rec/s | 100 | 33 | 3.00 × |" in text
    assert "| records per CPU-s | 200 | 67 | 3.00 × |" in text
    assert "| warm rec/s | – | – | – |" in text
    assert "| peak PSS | 100 MiB | 150 MiB | 1.50 × |" in text
    assert "| all visible | 10 s | 30 s | 3.00 × |" in text


def test_no_ratios_without_a_peer_or_without_frazil() -> None:
    for drains in ([drained()], [drained("peer-1", "Kafka Connect, 1 task")]):
        assert "better" not in to_markdown(Results({}, drains=drains))


def test_repeats_are_one_row_with_their_spread() -> None:
    text = to_markdown(Results({}, drains=[drained(seconds=seconds) for seconds in (10, 20, 40)]))
    assert "| frazil | 1,000 | 50 (25–100 in 3 runs) |" in text


def test_a_wrong_table_and_a_failure_cannot_be_overlooked() -> None:
    results = Results({"Processor": "x"}, [drained(rows=999)], latencies=[LATENCY], failures={"audit": "no rows"})
    text = to_markdown(results)
    assert "**999**" in text
    assert "**990**" in text
    assert "- audit: no rows" in text
    assert "- Processor: x" in text


def test_audit_records_are_compared_with_each_other() -> None:
    audit = [drained(title="`details`: text", seconds=10), drained(title="`details`: object", seconds=16)]
    assert "0.62 times the rate" in to_markdown(Results({}, audit=audit))


def test_questions_show_what_was_read() -> None:
    text = to_markdown(Results({}, questions=[Question("a day", 1000, 20, 1, 0.256, 1.5)]))
    assert "| a day | 1,000 | 20 | 1 | 0.26 s | 1.50 s |" in text


def test_a_worker_that_has_nothing_to_read() -> None:
    text = to_markdown(Results({}, workers=[IdleWorker("frazil", 9.04, 1.5, 2.25, 0.05, 1 << 30, 0.0032, 0.011, 4.0)]))
    assert "| frazil | 9.0 s | 1.50 s | 2.25 s | 0.050 | 1,024 MiB | 3.2 ms | 11.0 ms | 4.0 s |" in text


def test_many_connectors() -> None:
    text = to_markdown(Results({}, many=[ManyConnectors(100, 18.25, 0.0912, 0.64, 13.5, 180, 1390)]))
    assert "| 100 | 18.2 s | 0.091 | 0.64 | 13.5 s | 180 | 1,390 |" in text


def test_json_has_every_figure() -> None:
    results = Results({}, [drained()], [Limit("arrow-json", 10, 1, 1, 2)], [LATENCY])
    document = json.loads(to_json(results))
    assert document["drains"][0]["cpu_s"] == 5.0
    assert document["limits"][0]["title"] == "arrow-json"
    assert document["latencies"][0]["rows"] == 990


def test_objects() -> None:
    drain = ObjectDrain("JSON Lines", 1000, 4, 2 << 20, 2.0, None, 300.0, 4.0, 1 << 30, 0.0123, True)
    rate = ObjectRate("1 s", 35_000, 1000, 4, 0.5, 1.25, 2.0, 0.75, 0.03, None, 0.02, 1.5, 1 << 30, False)
    text = to_markdown(Results({}, objects=[drain], object_rates=[rate]))
    assert "| JSON Lines | 1,000 | 500 | – | 250 | 300 | 4 | 2 | 2 MiB | 12 ms | 1,024 MiB | exact |" in text
    assert (
        "| 1 s | 35,000 | 1,000 | 0.50 s | 1.25 s | 2.00 s | 0.75 s | 30 ms | – | 4 | 1.50 | 1,024 MiB | 0.02 s | "
        "**wrong** |" in text
    )
    assert "| required, 4 workers | 35,000 | 120 ms | – | 2.0 | 4 GB |" in text
    assert "| frazil, 1 worker, 1 s | 35,000 | 750 ms | 30 ms | 1.50 | 1,024 MiB |" in text
    assert not Results({}, object_rates=[rate]).good


def test_records_that_cost_more_are_compared_with_plain_ones() -> None:
    pair = [drained(title="plain", seconds=10), drained(title="need care", seconds=20)]
    for results in (Results({}, strict=pair), Results({}, malformed=pair)):
        assert "need care, beside plain: 0.50 times the rate, 1.00 times the records" in to_markdown(results)


def test_files_of_each_commit() -> None:
    text = to_markdown(Results({}, spreads=[Spread(1000, [(600, 200, 400, 2), (400, 200, 210, 1)])]))
    assert "| 1,000 | 1 | 600 | 200 | 2 | 400 | 1.00 |" in text
    assert "| 1,000 | 2 | 400 | 200 | 1 | 210 | 1.05 |" in text
