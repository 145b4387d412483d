from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest
from scripts.horizontal_scaling import main, report
from scripts.scaling_runs import Load, Moment, Outcome

from frazil.cli.ui.console import file_console
from tests.waits import PATIENCE_S, eventually

SCRIPT = Path(__file__).parents[1] / "scripts" / "test-horizontal-scaling.sh"


def _check(**more: Any) -> dict[str, Any]:
    good = {"read": 10, "stored": 9, "dead": 1, "missing": [], "doubled": [], "foreign": 0, "complete": True}
    return {**good, **more}


def _outcome(workers: str, seconds: float, *checks: dict[str, Any], killed: bool = False) -> Outcome:
    return Outcome(workers, Moment(100.0, 1000, 5.0), Moment(100.0 + seconds, 5000, 7.0), checks, killed)


def test_the_table_tells_rates_and_what_verify_found(tmp_path: Path) -> None:
    lost = _check(missing=[3, 4], complete=False)
    runs = [_outcome("1", 4, _check(), _check()), _outcome("2", 2, _check()), _outcome("2, one killed", 8, lost)]
    with (tmp_path / "table").open("w") as file:
        file_console(file).print(report(runs))
    _, one, two, killed = (tmp_path / "table").read_text().splitlines()
    assert one.split() == ["1", "1,000", "1.00", "2,000", "20", "18", "2", "0", "0", "0"]
    assert two.split()[:4] == ["2", "2,000", "2.00", "2,000"]
    assert killed.split()[-3:] == ["2", "0", "0"]
    assert [run.complete for run in runs] == [True, True, False]


def test_a_run_that_was_not_compared_is_not_complete() -> None:
    assert not _outcome("1", 4).complete


def test_a_killed_worker_takes_its_cpu_seconds_along() -> None:
    assert _outcome("2", 4, _check(), killed=True).per_cpu_s is None


@pytest.mark.parametrize("records", [1000, 5000, 300_000])
@pytest.mark.parametrize("partitions", [2, 4, 7])
def test_a_run_has_several_batches(records: int, partitions: int) -> None:
    load = Load(records, partitions)
    assert 5 <= records / load.batch < 8
    assert load.tail * partitions < records / 10


@pytest.mark.parametrize("arguments", [["-w", "1"], ["-n", "ten"], ["-n", "999"], ["-w", "3", "-p", "2"], ["more"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: scripts/test-horizontal-scaling.sh" in capsys.readouterr().err


def _members(folder: Path) -> list[int]:
    """Processes with the folder in their command or environment."""
    found = []
    for process in psutil.process_iter():
        try:
            text = [*process.cmdline(), *process.environ().values()]
        except (psutil.AccessDenied, psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        if any(str(folder) in one for one in text):
            found.append(process.pid)
    return found


@pytest.mark.spark
@pytest.mark.faults
def test_a_killed_spark_worker_loses_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [SCRIPT, "-n", "40000"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    heading, *runs, last = done.stdout.splitlines()
    assert heading.split()[:2] == ["SPARK", "WORKERS"]
    assert [re.split(r"  +", line)[0] for line in runs[:2]] == ["1", "2"]
    assert "spark-worker-2 killed at" in runs[2]
    for line in runs:
        *_, records, stored, dead, missing, doubled, other = (int(n.replace(",", "")) for n in line.split()[-6:])
        assert (records, missing, doubled, other) == (stored + dead, 0, 0, 0)
        assert dead > 0
        assert 36_000 < records <= 40_000
    assert last.startswith("Each record is stored exactly once")
    assert list(tmp_path.iterdir()) == []
    assert _members(tmp_path) == []


@pytest.mark.spark
@pytest.mark.faults
def test_ctrl_c_leaves_nothing_running(tmp_path: Path) -> None:
    with subprocess.Popen(
        [SCRIPT, "-n", "40000"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        eventually(lambda: process.poll() is not None or list(tmp_path.glob("*/run/spark-worker-1.json")))
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, said
    assert "Interrupted. Everything that the test has started is stopped" in said
    assert list(tmp_path.iterdir()) == []
    assert _members(tmp_path) == []
