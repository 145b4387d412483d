"""Lists that are written as one text, with commas."""


def listed(text: str) -> tuple[str, ...]:
    """The items without the white space around them; empty ones are none."""
    return tuple(item for part in text.split(",") if (item := part.strip()))
