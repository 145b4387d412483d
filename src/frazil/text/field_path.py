"""Paths to fields in transformations: a plain name (V1), or a dotted path with backticks (V2)."""


def field_path(path: str, version: str) -> tuple[str, ...]:
    r"""The names that a path leads through.

    With V2 a dot separates names; a name in backticks may contain dots, and `\`` in it is a backtick. A backtick ends
    the name only before a dot or at the end. Raises ValueError, with Connect's text, for a backtick without its pair.
    """
    if version.upper() != "V2":
        return (path,)
    names: list[str] = []
    position = 0
    while position < len(path):
        if path[position] == "`":
            name, position = _quoted(path, position)
        else:
            end = path.find(".", position)
            end = len(path) if end < 0 else end
            name, position = path[position:end], end + 1
        names.append(name)
    if path.endswith("."):
        names.append("")
    return tuple(names)


def _quoted(path: str, opening: int) -> tuple[str, int]:
    """The name that begins with the backtick at `opening`, and where the next name begins."""
    name = ""
    start = position = opening + 1
    while True:
        close = path.find("`", position)
        escaped = close > 0 and path[close - 1] == "\\"
        last = close == len(path) - 1
        if close < 0 or (last and escaped):
            raise ValueError(
                f"Incomplete backtick pair in path: [{path}], consider adding a backslash before backtick at position "
                f"{opening} to escape it"
            )
        if last or (path[close + 1] == "." and not escaped):
            return name + path[start:close], close + 2
        if escaped and path[close + 1] == ".":
            name += path[start : close - 1] + "`"
            start = close + 1
        position = close + 1
