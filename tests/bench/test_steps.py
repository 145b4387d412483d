from __future__ import annotations

from pathlib import Path

from bench.environment import bench_settings
from bench.results import Results
from bench.steps import Plan, measure


def test_a_step_that_fails_is_noted_and_the_next_one_runs(tmp_path: Path) -> None:
    """The home does not exist, so no process of the limit finds the folder for its file."""
    settings = bench_settings(tmp_path / "absent", {})
    plan = Plan("api", 10, 10, 10, 10, 10, 1, 1, False, ("limit",))
    results, told = Results({}), list[str]()
    measure(settings, plan, results, lambda text: None, told.append)
    assert list(results.failures) == ["limit of arrow-json", "limit of decoder"]
    assert all("No such file or directory" in message for message in results.failures.values())
    assert results.limits == []
    assert [line.partition(" failed: ")[0] for line in told] == list(results.failures)
