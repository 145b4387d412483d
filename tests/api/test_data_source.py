"""Options of Spark's format `frazil`; what it reads is tested with the page about Python."""

from __future__ import annotations

import pytest

from frazil import RecordSource
from frazil.errors import ConfigError, UsageError


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({}, UsageError, "there is no topic"),
        ({"topic": "orders"}, UsageError, "there is no schema"),
        ({"topic": "t", "schema": "id BIGINT", "since": "soon"}, UsageError, "soon is not a time"),
        ({"topic": "t", "schema": "id BIGINT", "startingOffsets": "7"}, ConfigError, "offsets cannot be read"),
        ({"topic": "t", "schema": "id BIGINT NULLS"}, ConfigError, "frazil.sql.schema"),
    ],
)
def test_options_that_cannot_be_read_are_told(options: dict[str, str], kind: type[Exception], said: str) -> None:
    source = RecordSource({name.lower(): text for name, text in options.items()})
    with pytest.raises(kind, match=said):
        source.schema()
