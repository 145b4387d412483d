"""Programs of Debian's packages, for tests that check our files with the program that will read them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "debian.sh"


@cache
def program(name: str, package: str) -> str:
    """The path of a program, which `scripts/debian.sh` fetches; skips the test where it cannot be had."""
    found = subprocess.run([_SCRIPT, name, package], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(found.stderr.strip())
    return found.stdout.strip()
