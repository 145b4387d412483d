"""Comparison of JSON Schemas, for the rules of schema evolution.

A field that a schema does not name counts as absent from its records, unless `additionalProperties` says otherwise, so
a new optional field is no restriction. What cannot be compared counts as one.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

Rule = Literal["NONE", "BACKWARD", "FORWARD", "FULL"]

_NOTES = frozenset(
    [
        "$schema",
        "$id",
        "id",
        "$comment",
        "$anchor",
        "$defs",
        "definitions",
        "$vocabulary",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "contentMediaType",
        "contentEncoding",
        "contentSchema",
    ]
)
_HIGHEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_LOWEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_HANDLED = frozenset(
    ("type", "enum", "const", "required", "properties", "additionalProperties", "items", "$ref", "uniqueItems")
) | frozenset((*_HIGHEST, *_LOWEST, "multipleOf", "format", "pattern"))
_TYPES = frozenset(("null", "boolean", "object", "array", "number", "string"))
_DEEP = 100


def refusals(old: Any, new: Any, rule: Rule) -> list[str]:
    """List why a schema may not take the place of another one; nothing when it may."""
    found: list[str] = []
    if rule in ("BACKWARD", "FULL"):
        found += [f"{text}, so records that were valid are not any more" for text in tightened(old, new)]
    if rule in ("FORWARD", "FULL"):
        found += [
            f"{text} in the schema before, so readers of it cannot read what is valid now"
            for text in tightened(new, old)
        ]
    return list(dict.fromkeys(found))


def tightened(old: Any, new: Any) -> list[str]:
    """List what the new schema refuses and the old one does not, each with the path of the field."""
    return list(dict.fromkeys(_Comparison(old, new).compare(old, new, "", 0)))


class _Comparison:
    """Compares parts of two schemas; `old` and `new` are the whole ones, which references lead into."""

    def __init__(self, old: Any, new: Any) -> None:
        self._old, self._new = old, new
        self._open: set[tuple[int, int]] = set()

    def compare(self, old: Any, new: Any, path: str, depth: int) -> Iterator[str]:
        old, new = _resolved(old, self._old), _resolved(new, self._new)
        if old is False or new in (True, {}) or old == new and self._old == self._new:
            return
        if depth > _DEEP:
            yield f"{_at(path)} is nested too deeply to be compared"
            return
        pair = id(old), id(new)
        if pair in self._open:
            return
        self._open.add(pair)
        if new is False:
            yield f"{_at(path)} is not allowed"
            return
        before: Mapping[str, Any] = old if isinstance(old, dict) else {}
        yield from _values(before, new, path)
        yield from _limits(before, new, path)
        yield from self._members(before, new, path, depth)
        yield from self._elements(before, new, path, depth)
        for name in sorted((before.keys() | new.keys()) - _HANDLED - _NOTES):
            if _text(before.get(name)) != _text(new.get(name)):
                yield f"{_at(path)}: {name} differs, which cannot be compared"

    def _members(self, old: Mapping[str, Any], new: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
        for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
            yield f"{_at(_inside(path, name))} is required"
        olds, news = old.get("properties", {}), new.get("properties", {})
        others, more = old.get("additionalProperties"), new.get("additionalProperties")
        for name, schema in news.items():
            before = olds.get(name, False if others in (None, True) else others)
            yield from self.compare(before, schema, _inside(path, name), depth + 1)
        for name, schema in olds.items():
            if name not in news and more is not None:
                yield from self.compare(schema, more, _inside(path, name), depth + 1)
        if more is False and others is not False and "additionalProperties" not in old:
            yield f"{_at(path)} may have no other fields"
        elif more not in (None, True):
            yield from self.compare(True if others is None else others, more, _inside(path, "*"), depth + 1)

    def _elements(self, old: Mapping[str, Any], new: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
        before, after = old.get("items", True), new.get("items", True)
        if isinstance(before, list) or isinstance(after, list):
            if _text(before) != _text(after):
                yield f"{_at(path)}: items differs, which cannot be compared"
            return
        yield from self.compare(before, after, f"{path}[]", depth + 1)


def _values(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[str]:
    """Compare types, enumerations, formats and patterns."""
    types, allowed, now = _types(new), _allowed(old), _allowed(new)
    if allowed is not None:
        gone = [
            value for value in allowed if not _is_of(json.loads(value), types) or (now is not None and value not in now)
        ]
        if gone:
            yield f"{_at(path)} may not be {', '.join(gone)}"
    else:
        wider = types | {"integer"} if "number" in types else types
        lost = sorted(_types(old) - wider)
        if lost:
            yield f"{_at(path)} may not be {' or '.join(lost)}"
        if now is not None:
            yield f"{_at(path)} may only be one of {len(now)} values"
    for name in ("format", "pattern"):
        if name in new and new[name] != old.get(name):
            yield f"{_at(path)} has to have {name} {new[name]}"
    if new.get("uniqueItems") is True and old.get("uniqueItems") is not True:
        yield f"{_at(path)} may have no two equal items"


def _limits(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[str]:
    for names, sign in ((_HIGHEST, 1), (_LOWEST, -1)):
        for name in names:
            limit, before = new.get(name), old.get(name)
            if limit is None or limit is False or limit == before:
                continue
            if not _is_number(limit) or (before is not None and not _is_number(before)):
                yield f"{_at(path)}: {name} differs, which cannot be compared"
            elif before is None or sign * limit < sign * before:
                yield f"{_at(path)} has {name} {limit}"
    step, before = new.get("multipleOf"), old.get("multipleOf")
    if step is not None and (before is None or before % step):
        yield f"{_at(path)} has to be a multiple of {step}"


def _types(schema: Mapping[str, Any]) -> frozenset[str]:
    found = schema.get("type")
    if found is None:
        return _TYPES
    return frozenset([found] if isinstance(found, str) else found)


def _allowed(schema: Mapping[str, Any]) -> list[str] | None:
    """List the only values that a schema allows, as JSON; None when it names none."""
    if "enum" in schema:
        return [_text(value) for value in schema["enum"]]
    return [_text(schema["const"])] if "const" in schema else None


def _is_of(value: Any, types: frozenset[str]) -> bool:
    match value:
        case None:
            return "null" in types
        case bool():
            return "boolean" in types
        case int() | float():
            return "number" in types or ("integer" in types and value == int(value))
        case str():
            return "string" in types
        case _:
            return ("array" if isinstance(value, list) else "object") in types


def _resolved(schema: Any, root: Any) -> Any:
    """Follow a reference into the same file; a schema that is none is given back."""
    for _ in range(_DEEP):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        schema = root
        for part in filter(None, reference[1:].split("/")):
            name = part.replace("~1", "/").replace("~0", "~")
            schema = schema.get(name, True) if isinstance(schema, dict) else True
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _at(path: str) -> str:
    return f"field {path}" if path else "a record"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
