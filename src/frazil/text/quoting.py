"""Text in double quotes."""


def quoted(text: str) -> str:
    """The text as options of JAAS and of Spark's launcher have it: with a backslash before each quote and each
    backslash."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def identifier(name: str) -> str:
    """The name as SQL has it, each quote in it twice."""
    return '"' + name.replace('"', '""') + '"'
