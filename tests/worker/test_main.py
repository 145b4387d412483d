"""What a worker asks of the system."""

from __future__ import annotations

import resource
import subprocess
import sys

from frazil.worker.main import allow_open_files


def test_a_worker_and_its_children_may_open_as_many_files_as_the_system_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, hard), hard))
    try:
        allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
        ask = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
        told = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True).stdout
        assert told.split() == [str(hard), str(hard)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
