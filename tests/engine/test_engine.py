from __future__ import annotations

from pathlib import Path

from frazil.engine.engine import begin_run


def test_each_run_knows_those_before_it(tmp_path: Path) -> None:
    file = tmp_path / "worker" / "runs"
    first = begin_run(file)
    second = begin_run(file)
    third = begin_run(file)
    assert first.earlier == frozenset()
    assert second.earlier == {first.current}
    assert third.earlier == {first.current, second.current}


def test_the_last_runs_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    file.write_text("".join(f"run-{n}\n" for n in range(500)))
    current = begin_run(file).current
    assert file.read_text().split() == [*(f"run-{n}" for n in range(401, 500)), current]
