from __future__ import annotations

import subprocess
import sys

import psutil
import pytest
from bench.sampling import Sample, TreeSampler, cpu_between, sample_tree

# A parent whose child burns 0.3 s of processor time and ends; then the parent says so and waits for its input.
_PARENT = """
import subprocess, sys
burn = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, "-c", burn], check=True)
print("done", flush=True)
sys.stdin.read()
"""


def test_time_of_a_child_that_has_ended_counts() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"done\n"
        with TreeSampler(psutil.Process(parent.pid)) as sampler:
            sampler.take()
    last = sampler.samples[-1]
    assert last.cpu_s >= 0.3
    assert 0 < last.pss <= last.rss


def test_memory_may_be_that_of_the_sample_before() -> None:
    before = Sample(10, 1, 7, 8)
    found = sample_tree(psutil.Process(), before)
    assert found is not None
    assert (found.pss, found.rss) == (7, 8)
    assert found.cpu_s > 0


def test_a_process_that_has_ended_gives_no_sample() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        handle = psutil.Process(process.pid)
    assert sample_tree(handle) is None


def test_processor_time_is_interpolated_between_samples() -> None:
    samples = [Sample(10, 1, 0, 0), Sample(12, 3, 0, 0), Sample(14, 3, 0, 0)]
    assert cpu_between(samples, 11, 13) == pytest.approx(1)
    assert cpu_between(samples, 0, 100) == pytest.approx(2)
    with pytest.raises(ValueError, match="no samples"):
        cpu_between([], 0, 1)
