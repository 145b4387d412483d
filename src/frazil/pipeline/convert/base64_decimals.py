"""Decimals as Kafka Connect writes them in JSON: the Base64 of an unscaled number."""

import base64
from decimal import Context, Decimal

_MAX_DIGITS = 1000


def decimal_text(unscaled: str, scale: int) -> bytes:
    """Write the decimal as a JSON number. Raises ValueError for a text that is no Base64, and for a very long one."""
    data = base64.b64decode(unscaled, validate=True)
    if not data or len(data) > _MAX_DIGITS // 3 or abs(scale) > _MAX_DIGITS:
        raise ValueError(f"a decimal of {len(data)} bytes")
    value = int.from_bytes(data, "big", signed=True)
    return format(Decimal(value).scaleb(-scale, Context(prec=2 * _MAX_DIGITS)), "f").encode()
