from __future__ import annotations

import os
from pathlib import Path

import pytest

from frazil.stack.java import find_java


@pytest.fixture(scope="session")
def java() -> Path:
    return find_java(os.environ)
