"""Amounts as people read them."""


def counted(number: int, what: str) -> str:
    """A number and what it counts, in the plural unless it is one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def size(value: float) -> str:
    """Bytes in binary units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"
