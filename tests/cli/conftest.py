"""Tables for the verbs that read some, apart from those of `tests/sql`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from frazil.stack.local import LocalStack
from tests.sql.conftest import LogTables, filled_tables


@pytest.fixture(scope="session")
def log_tables(stack: LocalStack) -> Iterator[LogTables]:
    yield from filled_tables(stack, "clitests")
