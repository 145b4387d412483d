"""The manual page `frazil(1)`: every verb with its options, variables and exit codes, from the code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from frazil.cli.main import app
from frazil.cli.ui.program import GROUPS
from frazil.environment.variables import VARIABLES

_CODES = {"0": "Success.", "1": "Failure.", "2": "Wrong usage or configuration.", "130": "Ended by Ctrl+C."}
_PROGRAM = "frazil"


def manual(version: str) -> str:
    """The page in the language of man."""
    program: Any = typer.main.get_command(app)
    return "\n".join(
        [
            f'.TH {_PROGRAM.upper()} 1 "" "{_PROGRAM} {version}"',
            *_section("Name", f"{_PROGRAM} \\- store streams in lakehouse tables"),
            *_section("Synopsis", f".B {_PROGRAM}\n.I verb\n[options]"),
            *_section("Description", *_paragraphs(program.help)),
            *(line for title, verbs in GROUPS.items() for line in _group(title, verbs, program.commands)),
            *_section("Exit status", *_terms(_CODES)),
            *_section("Environment", *_terms({name: one.meaning for name, one in VARIABLES.items()})),
            "",
        ]
    )


def _section(title: str, *lines: str) -> list[str]:
    return [f'.SH "{title.upper()}"', *lines]


def _group(title: str, verbs: tuple[str, ...], commands: Mapping[str, Any]) -> list[str]:
    return _section(_text(title), *(line for verb in verbs for line in _verb((verb,), commands[verb])))


def _verb(path: tuple[str, ...], command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=" ".join((_PROGRAM, *path)))
    yield f'.SS "{_text(" ".join([context.info_name or "", *command.collect_usage_pieces(context)]))}"'
    yield from _paragraphs(command.help)
    records = [parameter.get_help_record(context) for parameter in command.params]
    yield from _terms(dict(filter(None, records)))
    yield from _paragraphs(command.epilog)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _verb((*path, name), inner)


def _paragraphs(text: str | None) -> Iterator[str]:
    """Paragraphs of a help text; one that begins with \\b keeps its lines."""
    for paragraph in (text or "").split("\n\n"):
        kept = paragraph.startswith("\b")
        lines = _text(paragraph.removeprefix("\b").strip("\n"))
        yield from ((".PP", ".nf", lines, ".fi") if kept else (".PP", re.sub(r"\s*\n\s*", " ", lines)))


def _terms(entries: Mapping[str, str]) -> Iterator[str]:
    for term, meaning in entries.items():
        yield from (".TP", f".B {_text(term)}", _text(" ".join(meaning.split())) or "\\&")


def _text(text: str) -> str:
    """Text with what man would take for its own written as it is shown."""
    shown = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("`", "\\(ga")
    return re.sub(r"(?m)^(?=[.'])", r"\\&", shown)
