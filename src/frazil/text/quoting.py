"""Text in double quotes, as options of JAAS and of Spark's launcher have it."""


def quoted(text: str) -> str:
    """The text in double quotes, with a backslash before each quote and each backslash in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
