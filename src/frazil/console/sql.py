"""The page of SQL: a statement that reads, and its answer as a table."""

from starlette.requests import Request

from frazil.console.chart import PLOT_HEIGHT, PLOT_WIDTH, plot
from frazil.console.render import Page
from frazil.console.sent import fields_of
from frazil.errors import FrazilError, UsageError
from frazil.minio.questions.views import QUESTION_VIEWS
from frazil.sql.result import Result
from frazil.sql.value_text import text_of
from frazil.worker.pages import WorkerView

_ROWS = 1000
_EXAMPLE = "SHOW TABLES"


def sql_page(view: WorkerView, request: Request) -> Page:
    """Make the page: with the answer to the statement that a form sends, or with a statement to begin with.

    Statements are answered as by the verb `sql`; those that write are refused.
    """
    if request.method != "POST":
        statement = request.query_params.get("q", _EXAMPLE)
        return _page(view, statement)
    try:
        statement = _sent(request)
        from frazil.sql.engine import embedded_engine  # which needs an extra that a worker does without

        answers = list(embedded_engine(view.settings, QUESTION_VIEWS).run(statement))
    except UsageError as error:
        return _page(view, _EXAMPLE, problem=str(error), status=400)
    except FrazilError as error:
        return _page(view, statement, problem=str(error), status=400)
    return _page(view, statement, answer=answers[-1] if answers else None)


def _page(view: WorkerView, statement: str, answer: Result | None = None, problem: str = "", status: int = 200) -> Page:
    rows = [] if answer is None else [[text_of(value) for value in row] for row in answer.rows[:_ROWS]]
    numbers = [] if answer is None else [_is_number(answer, index) for index in range(len(answer.columns))]
    return Page(
        "SQL",
        "sql.html",
        {
            "statement": statement,
            "answer": answer,
            "rows": rows,
            "numbers": numbers,
            "plot": None if answer is None else plot(answer.columns, answer.rows[:_ROWS]),
            "box": (PLOT_WIDTH, PLOT_HEIGHT),
            "questions": [(name, view.question.title) for name, view in QUESTION_VIEWS.items()],
            "more": 0 if answer is None else max(0, answer.row_count - _ROWS),
            "problem": problem,
            "namespace": view.settings.namespace,
        },
        here="sql",
        status=status,
    )


def _is_number(answer: Result, index: int) -> bool:
    return bool(answer.rows) and all(
        isinstance(row[index], int | float) or row[index] is None for row in answer.rows[:_ROWS]
    )


def _sent(request: Request) -> str:
    """The statement of a form. Raises UsageError for a body that is none."""
    found = fields_of(request).get("q", [""])[0]
    if not found.strip():
        raise UsageError("there is no statement; write one, such as SHOW TABLES")
    return found
