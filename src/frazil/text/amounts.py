"""Amounts as people read them."""


def counted(number: int, what: str) -> str:
    """A number and what it counts, in the plural unless it is one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def figure(number: int | None, *, at_most: bool = False) -> str:
    """A number in figures, which may be less where it is `at_most`; a question mark where there is none."""
    return "?" if number is None else f"{'≤ ' if at_most else ''}{number:,}"


def size(value: float) -> str:
    """Bytes in binary units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"
