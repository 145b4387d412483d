"""Keys that a worker adds to a configuration when it is created, and keeps: what it has found of its topics then."""

from collections.abc import Mapping

FOUND_COLUMNS = "frazil.sql.columns."
_SCHEMA, _PATTERN = "frazil.sql.schema", "topics.regex"


def kept(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> dict[str, str]:
    """Keys of the configuration before that one in its place keeps, as it says the same of what they stand for."""
    topics = [topic.strip() for topic in (after.get("topics") or "").split(",")]
    found = {}
    for key, text in before.items():
        topic = key.removeprefix(FOUND_COLUMNS)
        is_read = topic in topics or (after.get(_PATTERN) and after.get(_PATTERN) == before.get(_PATTERN))
        if text and topic != key and is_read and _source(before, topic) == _source(after, topic):
            found[key] = text
    return found


def replacing(before: Mapping[str, str], after: Mapping[str, str | None]) -> dict[str, str | None]:
    """A configuration in place of another, with the keys that it keeps, and without those that it does not."""
    return {**kept(before, after), **changing(before, after)}


def changing(before: Mapping[str, str], after: Mapping[str, str | None]) -> dict[str, str | None]:
    """A configuration that another was changed to, without the keys that are those of before, and no longer right."""
    left = kept(before, after)
    return {
        key: text
        for key, text in after.items()
        if not key.startswith(FOUND_COLUMNS) or key in left or text != before.get(key)
    }


def _source(config: Mapping[str, str | None], topic: str) -> str | None:
    return config.get(f"{_SCHEMA}.{topic}") or config.get(_SCHEMA)
