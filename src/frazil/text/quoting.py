"""Text in double quotes, and in addresses."""

from urllib.parse import quote


def quoted(text: str) -> str:
    """The text as options of JAAS and of Spark's launcher have it: with a backslash before each quote and each
    backslash."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def identifier(name: str) -> str:
    """The name as SQL has it, each quote in it twice."""
    return '"' + name.replace('"', '""') + '"'


def segment(name: str) -> str:
    """The name as one segment of a path; clients take "." and ".." for folders, also at the end."""
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")
