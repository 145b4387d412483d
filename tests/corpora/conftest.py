"""Packages of public payloads."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "corpora.sh"


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder of the packages, which are fetched once."""
    found = subprocess.run([SCRIPT], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return Path(found.stdout.strip())
