"""Connectors in files: JSON or YAML, one or several, in both shapes of Connect's REST API."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from frazil.errors import UsageError

_SUFFIXES = (".json", ".yaml", ".yml")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_STATES = ("RUNNING", "PAUSED", "STOPPED")
_WRAPPED = {"name", "config", "initial_state"}


@dataclass(frozen=True)
class Document:
    """Connector of a file; every value is the text that stands there. `source` names the file for messages."""

    name: str
    config: dict[str, str]
    source: str
    initial_state: str = "RUNNING"


def read_document(path: str, stdin: Iterable[str] = (), *, variables: Mapping[str, str] | None = None) -> Document:
    """The one connector of a file; see `read_documents`. Raises UsageError also when there are several."""
    documents = read_documents([path], stdin, variables=variables)
    if len(documents) > 1:
        raise UsageError(f"{path} has {len(documents)} connectors, not one. Nothing was done.")
    return documents[0]


def read_documents(
    paths: Sequence[str],
    stdin: Iterable[str] = (),
    name: str | None = None,
    fallback: Callable[[Path], str] = lambda file: file.stem,
    variables: Mapping[str, str] | None = None,
) -> list[Document]:
    """The connectors of files, of folders (their `.json`, `.yaml` and `.yml` files in the order of their names) and,
    for `-`, of standard input.

    With `variables` each `${NAME}` in a value is replaced, in one pass. `name` is that of the one document; without it
    `fallback` names one that has none, after its file. Raises UsageError, which names file and reason, for anything
    that is no connector, and when two are of one name.
    """
    found = [document for path in paths for document in _read(path, stdin, name, fallback)]
    if variables is not None:
        found = [_filled(document, variables) for document in found]
    if not found:
        raise UsageError(f"there is no connector in {', '.join(paths)}. Nothing was sent.")
    seen: dict[str, str] = {}
    for document in found:
        if document.name in seen:
            raise UsageError(
                f"connector {document.name} is in {seen[document.name]} and in {document.source}. Nothing was sent."
            )
        seen[document.name] = document.source
    return found


def _filled(document: Document, variables: Mapping[str, str]) -> Document:
    """The connector with the values of variables. Raises UsageError for those that have none."""
    named = {name for text in document.config.values() for name in _VARIABLE.findall(text)}
    unset = sorted(name for name in named if not variables.get(name))
    if unset:
        raise UsageError(
            f"connector {document.name} ({document.source}) needs {', '.join(unset)}, which the file of variables and "
            "the environment do not set. Nothing was sent."
        )
    config = {key: _VARIABLE.sub(lambda found: variables[found[1]], text) for key, text in document.config.items()}
    return replace(document, config=config)


def _read(path: str, stdin: Iterable[str], name: str | None, fallback: Callable[[Path], str]) -> Iterator[Document]:
    if path == "-":
        yield from _documents("".join(stdin), "standard input", name)
        return
    place = Path(path)
    files = sorted(file for file in place.iterdir() if file.suffix in _SUFFIXES) if place.is_dir() else [place]
    if not files:
        raise UsageError(f"{path} has no {', '.join(_SUFFIXES)} file. Nothing was sent.")
    for file in files:
        try:
            text = file.read_text("utf-8")
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}. Nothing was sent.") from None
        except UnicodeDecodeError:
            raise UsageError(f"{file} is not UTF-8 text. Nothing was sent.") from None
        yield from _documents(text, str(file), name, fallback(file))


def _documents(text: str, source: str, name: str | None, fallback: str = "") -> Iterator[Document]:
    for value in _parsed(text, source):
        for entry in value if isinstance(value, list) else [value]:
            yield document_of(entry, source, name, fallback)


def _parsed(text: str, source: str) -> list[Any]:
    """JSON, else YAML; numbers and switches stay the text that was written."""

    def refuse(constant: str) -> NoReturn:
        raise UsageError(f"{source}: {constant} is no JSON value. Nothing was sent.")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _refuse_twice([key for key, _ in pairs], source)
        return dict(pairs)

    try:
        return [json.loads(text, parse_int=str, parse_float=str, parse_constant=refuse, object_pairs_hook=unique)]
    except json.JSONDecodeError as error:
        if source.endswith(".json"):
            place = f"{error.msg} at line {error.lineno}, column {error.colno}"
            raise UsageError(f"{source} is not JSON: {place}. Nothing was sent.") from None
    except RecursionError:
        raise UsageError(f"{source} is nested too deeply. Nothing was sent.") from None
    import yaml

    try:
        for node in yaml.compose_all(text, Loader=yaml.BaseLoader):
            _check_keys(node, source)
        loaded = list(yaml.load_all(text, Loader=yaml.BaseLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UsageError(f"{source} is not YAML{where}. Nothing was sent.") from None
    except RecursionError:
        raise UsageError(f"{source} is nested too deeply. Nothing was sent.") from None
    return [value for value in loaded if value not in ("", None)]


def _check_keys(node: Any, source: str) -> None:
    """Refuse a key that stands twice in a mapping of YAML, of which the last would count."""
    children = node.value if isinstance(getattr(node, "value", None), list) else []
    if children and isinstance(children[0], tuple):
        _refuse_twice([key.value for key, _ in children if isinstance(key.value, str)], source)
        children = [part for pair in children for part in pair]
    for child in children:
        _check_keys(child, source)


def _refuse_twice(keys: Sequence[str], source: str) -> None:
    twice = [key for key, times in Counter(keys).items() if times > 1]
    if twice:
        raise UsageError(f"{source}: {twice[0]} is given twice. Nothing was sent.")


def document_of(entry: Any, source: str, given: str | None = None, fallback: str = "") -> Document:
    """A connector from an object of keys and values, or from one that has these as `config`. Raises UsageError."""
    if not isinstance(entry, dict):
        raise UsageError(f"{source}: a connector is an object of keys and values. Nothing was sent.")
    if "config" not in entry:
        return Document(_name(entry.get("name"), None, source, given, fallback), _config(entry, source), source)
    unknown = sorted(set(entry) - _WRAPPED)
    if unknown:
        raise UsageError(
            f"{source}: unknown field {unknown[0]} beside config; fields are {', '.join(sorted(_WRAPPED))}. "
            "Nothing was sent."
        )
    config = _config(entry["config"], source)
    state = str(entry.get("initial_state") or "RUNNING").upper()
    if state not in _STATES:
        raise UsageError(f"{source}: initial_state {state} is none of {', '.join(_STATES)}. Nothing was sent.")
    return Document(_name(entry.get("name"), config.get("name"), source, given, fallback), config, source, state)


def _config(value: Any, source: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise UsageError(f"{source}: config is not an object of keys and values. Nothing was sent.")
    return {str(key): _text(str(key), item, source) for key, item in value.items()}


def _text(key: str, item: Any, source: str) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return json.dumps(item)
    if not isinstance(item, str):
        kind = "an object" if isinstance(item, dict) else "an array" if isinstance(item, list) else "null"
        raise UsageError(f"{source}: the value of {key} is {kind}; write it as a text. Nothing was sent.")
    return item


def _name(outer: Any, inner: str | None, source: str, given: str | None, fallback: str) -> str:
    names = {str(name).strip() for name in (outer, inner, given) if name} or set(filter(None, [fallback]))
    if not names:
        raise UsageError(f"{source} has a connector without a name; add one, or give it with --name. Nothing was sent.")
    if len(names) > 1:
        raise UsageError(f"{source}: the names {' and '.join(sorted(names))} are for one connector. Nothing was sent.")
    return names.pop()
