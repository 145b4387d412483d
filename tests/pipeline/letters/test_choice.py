from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from frazil.errors import UsageError
from frazil.pipeline.letters.choice import Choice
from frazil.pipeline.letters.letter import Letter

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REASONS = ("column a.b: the text is not a number (x)", "the value is not JSON", "fits (in 32 bits")


def letters() -> list[Letter]:
    """Six letters of two connectors, a minute apart."""
    return [
        Letter(
            "t-dlq",
            0,
            n,
            int((NOON + timedelta(minutes=n)).timestamp() * 1000),
            None,
            b"",
            context={"connector.name": f"c{n % 2}", "exception.message": REASONS[n % 3]},
        )
        for n in range(6)
    ]


@pytest.mark.parametrize(
    ("choice", "offsets"),
    [
        (Choice(), [0, 1, 2, 3, 4, 5]),
        (Choice(connector="c1"), [1, 3, 5]),
        (Choice(limit=2), [0, 1]),
        (Choice(since=NOON + timedelta(minutes=2), until=NOON + timedelta(minutes=4)), [2, 3]),
        (Choice(reason="NOT JSON"), [1, 4]),
        (Choice(reason=r"^column a\.b"), [0, 3]),
        (Choice(reason="number (x)"), [0, 3]),
        (Choice(reason="fits (in"), [2, 5]),
        (Choice(reason="json|32 bits", connector="c1"), [1, 5]),
        (Choice(reason="nothing such"), []),
    ],
)
def test_all_conditions_have_to_be_met(choice: Choice, offsets: list[int]) -> None:
    choice.check()
    assert [letter.offset for letter in choice.of(letters())] == offsets


def test_a_reason_that_is_no_expression() -> None:
    with pytest.raises(UsageError, match="is no regular expression"):
        Choice(reason="a(b|c").check()
