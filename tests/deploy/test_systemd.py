"""The unit of systemd, checked by systemd's own tools."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).resolve().parents[2] / "deploy" / "systemd" / "frazil-worker.service"

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="the machine has no systemd")


def test_the_unit_is_well_formed() -> None:
    done = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if UNIT.name in line and "is not executable" not in line]
    assert complaints == []


def test_the_unit_is_sandboxed() -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--json=short", "--threshold=30", UNIT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, [one["description"] for one in json.loads(done.stdout) if one["exposure"]]
