"""Sections of a YAML file whose keys are known, with the place of each for messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from frazil.errors import ConfigError
from frazil.text.lists import listed
from frazil.text.near import nearest

_VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)(?::([^}]*))?\}")
"""Placeholder as Spring has it; one for a configuration provider (`${env:NAME}`) begins with a small letter."""
_NULLS = ("", "~", "null", "Null", "NULL")
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


class Section:
    """A mapping of the file, empty where there is none. What is wrong is noted in `problems`, with file and line."""

    def __init__(
        self, file: Path, path: str, node: yaml.Node | None, env: Mapping[str, str], problems: list[str]
    ) -> None:
        self._file = file
        self._path = path
        self._node = node
        self._env = env
        self._problems = problems
        self._members: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        if node is None or _is_null(node):
            return
        if not isinstance(node, yaml.MappingNode):
            self.fail(f"expected keys and values, it is {_kind(node)}")
            return
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.fail("a key is a text")
            elif key.value in self._members:
                self._note(key, f"{key.value} is given twice")
            else:
                self._members[key.value] = key, value

    def where(self, name: str | None = None) -> str:
        """File, line and path of the section, or of one of its keys."""
        found = self._members.get(name) if name is not None else None
        node = found[0] if found else self._node
        return self._place(node, ".".join(filter(None, (self._path, name))))

    def fail(self, reason: str, name: str | None = None) -> None:
        """Note that the section, or one of its keys, is wrong."""
        self._problems.append(f"{self.where(name)}: {reason}")

    def names(self) -> Sequence[str]:
        """Keys in the order of the file."""
        return list(self._members)

    def has(self, name: str) -> bool:
        """Whether the document has the key, also without a value."""
        return name in self._members

    def allow(self, known: Sequence[str]) -> None:
        """Note every key that is not known."""
        for name in self._members:
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near}?" if near else f"known keys are {', '.join(known)}"
                self.fail(f"there is no such key; {hint}", name)

    def section(self, name: str) -> Section:
        """The mapping at a key."""
        found = self._members.get(name)
        path = ".".join(filter(None, (self._path, name)))
        return Section(self._file, path, found[1] if found else None, self._env, self._problems)

    def text(self, name: str) -> str | None:
        """A text; None when the key is absent or has no value."""
        found = self._members.get(name)
        if found is None or _is_null(found[1]):
            return None
        if not isinstance(found[1], yaml.ScalarNode):
            self.fail(f"expected one value, it is {_kind(found[1])}", name)
            return None
        return self._filled(found[1], name)

    def either(self, name: str, other: str) -> str | None:
        """A text that has two spellings."""
        first, second = self.text(name), self.text(other)
        if first is not None and second is not None and first != second:
            self.fail(f"{other} at line {self._members[other][0].start_mark.line + 1} says something else", name)
        return second if first is None else first

    def number(self, name: str, minimum: int) -> int | None:
        """A whole number."""
        text = self.text(name)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < minimum:
            self.fail(f"expected a whole number of at least {minimum}, it is {text!r}", name)
            return None
        return int(text)

    def flag(self, name: str) -> bool | None:
        """A switch."""
        text = (self.text(name) or "").lower()
        if text and text not in (*_TRUE, *_FALSE):
            self.fail(f"expected true or false, it is {text!r}", name)
        return text in _TRUE if text in (*_TRUE, *_FALSE) else None

    def items(self, name: str) -> tuple[str, ...]:
        """A list of texts, also as one text with commas."""
        found = self._members.get(name)
        if found is None or not isinstance(found[1], yaml.SequenceNode):
            return listed(self.text(name) or "")
        texts = []
        for node in found[1].value:
            if not isinstance(node, yaml.ScalarNode) or _is_null(node):
                self.fail(f"expected texts, one of them is {_kind(node)}", name)
            else:
                texts.append(self._filled(node, name))
        return tuple(texts)

    def texts(self) -> dict[str, str]:
        """Texts of all keys that have one."""
        return {name: text for name in self._members if (text := self.text(name)) is not None}

    def _filled(self, node: yaml.ScalarNode, name: str) -> str:
        def value(found: re.Match[str]) -> str:
            default: str | None = found[2]
            text = self._env.get(found[1], default)
            if text is None:
                self.fail(f"variable {found[1]} is not set; set it, or write ${{{found[1]}:default}}", name)
            return text or ""

        return _VARIABLE.sub(value, str(node.value)).strip()

    def _note(self, node: yaml.Node, reason: str) -> None:
        self._problems.append(f"{self._place(node, self._path)}: {reason}")

    def _place(self, node: yaml.Node | None, path: str) -> str:
        line = f":{node.start_mark.line + 1}" if node is not None else ""
        return f"{self._file}{line}" + (f" {path}" if path else "")


def read_sections(file: Path, env: Mapping[str, str], problems: list[str]) -> Iterator[Section]:
    """The documents of a file. Raises ConfigError for one that cannot be read or is no YAML, with the line."""
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}. No connector was changed.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text (byte {error.start}). No connector was changed.") from None
    try:
        for node in _documents(text):
            yield Section(file, "", node, env, problems)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            f"{file}:{line}: character U+{error.character:04X} cannot be in YAML. No connector was changed."
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it is not YAML"
        raise ConfigError(f"{file}{where}: {what}. No connector was changed.") from None
    except RecursionError:
        raise ConfigError(f"{file} is nested too deeply. No connector was changed.") from None


def _documents(text: str) -> Iterator[yaml.Node]:
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                _merge(loader, node)
                yield node
    finally:
        loader.dispose()


def _merge(loader: yaml.SafeLoader, node: yaml.Node) -> None:
    """Put what merge keys (`<<`) name into the mappings, each of them once."""
    waiting, seen = [node], set()
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, yaml.MappingNode):
            if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in found.value):
                loader.flatten_mapping(found)
                last = {key.value: (key, value) for key, value in found.value if isinstance(key, yaml.ScalarNode)}
                found.value = list(last.values())
            waiting += [value for _, value in found.value]
        elif isinstance(found, yaml.SequenceNode):
            waiting += found.value


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style is None and node.value in _NULLS


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "a list" if isinstance(node, yaml.SequenceNode) else f"{node.value!r}" if node.value else "empty"
