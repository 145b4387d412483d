"""Templates of the console. Every text is escaped, whatever a record, a name or a server says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
from starlette.requests import Request

from frazil.connectors.keys.versions import VERSION
from frazil.errors import NotFound
from frazil.text.amounts import size
from frazil.worker.pages import WorkerView

Content = str


@dataclass(frozen=True)
class Fragment:
    """Part of a page that is renewed while the page is open: `id` of its element, template of what is inside, and the
    name and value that the template has."""

    id: str
    template: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """A page: its template, what the template shows, and the parts that change. `live` is the address of the changes;
    empty for a page that stays as it is."""

    title: str
    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    fragments: Sequence[Fragment] = ()
    live: str = ""
    here: str = ""
    status: int = 200


def render(page: Page) -> Content:
    """The page as HTML."""
    parts = render_fragments(page.fragments)
    return _environment().get_template(page.template).render(page=page, parts=parts, version=VERSION, **page.values)


def render_fragments(fragments: Sequence[Fragment]) -> dict[str, Content]:
    """The parts of a page that change, by id."""
    environment = _environment()
    return {one.id: environment.get_template(one.template).render(**one.values) for one in fragments}


def render_problem(text: str) -> Content:
    """A page that says why there is no other."""
    return render(Page("No answer", "problem.html", {"text": text}))


def not_found(view: WorkerView, request: Request) -> Page:
    """Raises NotFound: no page has the address."""
    raise NotFound("There is no such page. The address may be that of another version.")


def number(value: float | None) -> str:
    """A count with thousands set apart; a dash where it is not known."""
    return "–" if value is None else f"{value:,.0f}"


def figure(value: float) -> str:
    """Any number, in six digits."""
    return f"{value:,.6g}"


def rate(value: float) -> str:
    """Records per second, in as many digits as tell something."""
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def duration(seconds: float) -> str:
    """Seconds in the unit that tells them best."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def moment(epoch_s: float | None) -> datetime | None:
    """A time for a page, which shows it in UTC, and in the browser's zone where scripts run."""
    return None if epoch_s is None else datetime.fromtimestamp(epoch_s, UTC)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("frazil.console"), PrefixLoader({"report": PackageLoader("frazil.minio.report", ".")})]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "figure": figure,
        "duration": duration,
        "rate": rate,
        "size": size,
        "moment": moment,
    }
    return environment
