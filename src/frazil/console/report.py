"""The page of the report about the logs of MinIO: what the verb `report` writes, made when it is asked for."""

from datetime import UTC, datetime, timedelta

from starlette.requests import Request

from frazil.console.render import Page
from frazil.console.sent import fields_of
from frazil.errors import FrazilError, UsageError
from frazil.minio.questions.views import QUESTION_VIEWS
from frazil.worker.pages import WorkerView

_TIMES = {"1": "the last hour", "24": "the last 24 hours", "168": "the last 7 days", "720": "the last 30 days"}
"""Hours that a report can be about."""
_DEFAULT = "24"


def report_page(view: WorkerView, request: Request) -> Page:
    """Make the page: with the report of the time that a form asks for, or with the form alone."""
    if request.method != "POST":
        return _page(_DEFAULT)
    hours = fields_of(request).get("hours", [""])[0]
    try:
        if hours not in _TIMES:
            raise UsageError(f"a report is about the last {', '.join(_TIMES)} hours")
        from frazil.minio.report.build import build  # which needs extras that a worker does without
        from frazil.minio.report.panels import Span
        from frazil.sql.engine import embedded_engine

        now = datetime.now(UTC)
        span = Span(now - timedelta(hours=int(hours)), now)
        found = build(embedded_engine(view.settings, QUESTION_VIEWS), span, now, lambda step: None)
    except FrazilError as error:
        return _page(hours if hours in _TIMES else _DEFAULT, problem=str(error), status=400)
    return _page(hours, found)


def _page(hours: str, found: object = None, problem: str = "", status: int = 200) -> Page:
    values = {"times": _TIMES, "hours": hours, "report": found, "problem": problem}
    return Page("Report", "report.html", values, here="sql", status=status)
