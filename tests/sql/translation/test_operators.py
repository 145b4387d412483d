from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import QueryError
from tests.sql.catalogs import computed

NUMBERS = st.decimals(min_value=-(10**6), max_value=10**6, places=3, allow_nan=False) | st.integers(-(10**6), 10**6)


def _type(number: Decimal | int) -> tuple[int, int]:
    """Precision and scale of a number as a literal of Trino."""
    if isinstance(number, int):
        return 10, 0
    text = f"{abs(number):f}"
    whole, _, fraction = text.partition(".")
    return max(len((whole + fraction).lstrip("0")), len(fraction)), len(fraction)


@given(NUMBERS, NUMBERS)
def test_decimals_are_calculated_with_trinos_digits(a: Decimal | int, b: Decimal | int) -> None:
    if isinstance(a, int) and isinstance(b, int):
        a = Decimal(f"{a}.5")
    (_, s1), (_, s2) = _type(a), _type(b)
    left, right = f"({a})", f"({b})"
    [(total, product)] = computed(f"SELECT {left} + {right}, {left} * {right}")
    with localcontext() as exact:
        exact.prec = 60
        assert str(total) == str((Decimal(a) + Decimal(b)).quantize(Decimal(1).scaleb(-max(s1, s2))))
        assert Decimal(str(product)) == Decimal(a) * Decimal(b)
        assert -product.as_tuple().exponent == s1 + s2
        if b:
            [(quotient,)] = computed(f"SELECT {left} / {right}")
            wanted = (Decimal(a) / Decimal(b)).quantize(Decimal(1).scaleb(-max(s1, s2)), ROUND_HALF_UP)
            assert quotient == wanted


@pytest.mark.parametrize("sql", ["1 / 0", "1 % 0", "1.5 / 0", "CAST(1 AS bigint) / 0", "mod(5, 0)"])
def test_division_by_zero_is_an_error(sql: str) -> None:
    with pytest.raises(QueryError, match="Division by zero"):
        computed(f"SELECT {sql}")


@pytest.mark.parametrize(
    "sql", ["2147483647 + 1", "9223372036854775807 + 1", "sum(x) FROM (VALUES 9223372036854775807, 1) AS t (x)"]
)
def test_an_overflow_is_an_error(sql: str) -> None:
    with pytest.raises(QueryError, match=r"[Oo]verflow|out of range|INT64|cast"):
        computed(f"SELECT {sql}")


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("1 = 'a'", "cannot be put together"),
        ("DATE '2025-01-01' + 1", "is not calculated"),
        ("'a' + 1", "is not calculated"),
        ("true > 1", "cannot be put together"),
        ("map(ARRAY[1], ARRAY[2]) < map(ARRAY[1], ARRAY[2])", "does not answer <"),
        ("ARRAY[1] < ARRAY[2]", "does not answer <"),
        ("ARRAY[ARRAY[1]] = ARRAY[ARRAY[1]]", "does not answer ="),
        (
            "coalesce(TIMESTAMP '2025-01-01 00:00:00 UTC', TIMESTAMP '2025-01-01 00:00:00 +01:00')",
            "several zones",
        ),
        ("-'a'", "is not calculated"),
        ("DATE '2025-01-01' + INTERVAL '1' HOUR", "Cannot add hour"),
    ],
)
def test_types_that_trino_does_not_put_together(sql: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        computed(f"SELECT {sql}")


def test_moments_of_several_zones_are_compared() -> None:
    vienna, utc = "TIMESTAMP '2025-07-01 12:00:00 Europe/Vienna'", "TIMESTAMP '2025-07-01 10:00:00 UTC'"
    conditions = f"{vienna} = {utc}, {vienna} BETWEEN {utc} AND {utc}, {vienna} IN ({utc}), nullif({vienna}, {utc})"
    assert computed(f"SELECT {conditions}, {vienna} - {utc}") == [(True, True, True, None, "0 00:00:00.000")]


def test_a_value_is_compared_with_a_subquery_of_a_wider_type() -> None:
    numbers = "SELECT CAST(x AS bigint) FROM (VALUES 1, 2) AS t (x)"
    assert computed(f"SELECT 2 IN ({numbers}), 3 > ALL ({numbers}), 3 = ANY ({numbers})") == [(True, True, False)]
    with pytest.raises(QueryError, match="write a CAST"):
        computed(f"SELECT 2.5 IN ({numbers})")
