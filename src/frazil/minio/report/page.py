"""The report as HTML: one file that holds all it shows, whatever the names in the data are."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from frazil.text.amounts import counted


@dataclass(frozen=True)
class Column:
    """Heading of a column, and whether it holds numbers."""

    name: str
    number: bool = False


@dataclass(frozen=True)
class Fact:
    """Figure at the head of the page."""

    name: str
    value: str


@dataclass(frozen=True)
class Panel:
    """Panel of a question: its plot (SVG text that comes from the plotting library), and its rows as text.

    `failure` says why there is no answer; without it and without rows the panel says that nothing happened.
    """

    title: str
    explanation: str
    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[str]] = ()
    plot: str = ""
    failure: str = ""
    more: int = 0

    @property
    def rows_shown(self) -> str:
        """Text about the table below the plot; `more` rows are left out of it."""
        count = len(self.rows)
        if self.more:
            return f"Table: {count:,} of {count + self.more:,} rows"
        return f"Table: {counted(count, 'row')}"


@dataclass(frozen=True)
class Page:
    """Content of the page; `span` and `made` are times in words."""

    title: str
    span: str
    made: str
    facts: Sequence[Fact] = ()
    notices: Sequence[str] = ()
    panels: Sequence[Panel] = ()
    version: str = field(default_factory=lambda: version("frazil"))


def html(page: Page) -> str:
    """The page as HTML text.

    Every text is escaped but the plots. The page's policy allows its one style sheet, by hash, and nothing else: no
    script, no frame, no request, no style inside an element.
    """
    environment = Environment(
        loader=PackageLoader("frazil.minio.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = files("frazil.minio.report").joinpath("page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("page.html.j2").render(page=page, style=style, style_hash=digest)
