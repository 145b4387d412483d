"""Forms in which the verbs for connectors print: those of all verbs, and YAML."""

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from frazil.cli.ui.output import show_table
from frazil.declare.definition import HIDDEN
from frazil.declare.placeholders import has_placeholder
from frazil.declare.secrets import is_secret


class Output(StrEnum):
    """Form in which an answer is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="A table, or all of it for programs.")]


def show(output: Output, document: Any, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print `document` as JSON or YAML, or `rows` below `header` as a table."""
    if output is Output.TABLE:
        show_table(header, list(rows))
    else:
        typer.echo(as_text(document, output))


def as_text(document: Any, output: Output) -> str:
    """A document as JSON or YAML, without a newline at its end."""
    if output is Output.JSON:
        return json.dumps(document, indent=2, ensure_ascii=False)
    import yaml

    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1_000_000).rstrip("\n")


def shown_value(key: str, value: str) -> str:
    """A value of a configuration for people: secrets are hidden, placeholders are not secret."""
    return HIDDEN if is_secret(key) and not has_placeholder(value) else value


def shown_config(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Keys and values for people, sorted."""
    return [(key, shown_value(key, value)) for key, value in sorted(config.items())]
