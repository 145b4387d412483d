"""Part of the form of a connector: what the newest records of its topics would become. Nothing is stored."""

from dataclasses import dataclass

from starlette.requests import Request

from frazil.connectors.connector import open_connector
from frazil.connectors.sample import Sample
from frazil.console.render import Page
from frazil.console.sent import fields_of
from frazil.errors import FrazilError
from frazil.sql.value_text import text_of
from frazil.worker.pages import WorkerView
from frazil.worker.rest.body import config_map, parse_json
from frazil.worker.rest.masking import unmasked

_RECORDS, _ROWS, _KINDS = 50, 5, 20


@dataclass(frozen=True)
class Shown:
    """A table of the sample: what is said of it, the columns that it would get, and its rows as text."""

    name: str
    remarks: list[str]
    changes: dict[str, str]
    columns: list[str]
    rows: list[list[str]]


def page(view: WorkerView, request: Request) -> Page:
    """Try the configuration that a form sends on records; what keeps it from that is told in their place."""
    try:
        problems, sample = _tried(view, request)
    except FrazilError as error:
        problems, sample = [str(error)], Sample()
    return Page(
        "Sample",
        "sample.html",
        {
            "problems": problems,
            "records": len({(one.topic, one.partition, one.offset) for one in sample.judged}),
            "kinds": sample.kinds()[:_KINDS],
            "tables": _shown(sample),
            "found": sample.columns,
            "warnings": sample.warnings,
        },
        status=400 if problems else 200,
    )


def _tried(view: WorkerView, request: Request) -> tuple[list[str], Sample]:
    fields = fields_of(request)
    name = fields.get("name", [""])[0].strip() or "new"
    stored = view.herder.info(name).config if name in view.herder.connectors() else {}
    config = config_map(parse_json(fields.get("config", [""])[0].encode()), "The configuration")
    sent = {key: text for key, text in unmasked(config, stored).items() if text is not None}
    settings = view.settings
    connector = open_connector(name, view.herder.completed({**sent, "name": name}), settings, settings.providers())
    with connector.hiding() as sink:
        problems = sink.problems()
        if problems:
            return problems, Sample()
        return [], sink.sample(_RECORDS, _ROWS, lambda text: None, lambda: view.executor(f"a sample of {name}"))


def _shown(sample: Sample) -> list[Shown]:
    found = []
    for table in sample.tables:
        columns = list(dict.fromkeys(column for row in table.rows for column in row))
        rows = [
            [text_of(row.get(column)) if row.get(column) is not None else "" for column in columns]
            for row in table.rows
        ]
        remarks = [text for text in (table.problem, *table.warnings) if text]
        found.append(Shown(table.name, remarks, table.changes, columns, rows))
    return found
