"""Questions as views of the embedded engine: `SELECT * FROM who_deleted`.

A view has all rows. Conditions that a statement puts on its columns `time` and `bucket` reach the tables, so that only
the files are read that can hold such rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.schema import Schema

from frazil.minio.questions.bind import statement
from frazil.minio.questions.catalog import VIEWS
from frazil.minio.questions.columns import view_schema
from frazil.minio.questions.question import Question, Value
from frazil.sql.view import Bounds


@dataclass(frozen=True)
class QuestionView:
    """A question as a `frazil.sql.view.View`."""

    question: Question

    @property
    def schema(self) -> Schema:
        """Columns of the answer, with their types."""
        return view_schema(self.question)

    def statement(self, bounds: Bounds) -> str:
        """The statement for all rows within the bounds."""
        values: dict[str, Value] = {}
        if "bucket" in bounds.texts:
            values["bucket"] = bounds.texts["bucket"]
        if "time" in bounds.since:
            values["since"] = bounds.since["time"]
        if "time" in bounds.until:
            values["until"] = bounds.until["time"]
        return statement(self.question, values)


QUESTION_VIEWS = {name: QuestionView(question) for name, question in VIEWS.items()}
