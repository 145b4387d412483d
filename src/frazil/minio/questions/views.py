"""Questions as views of the embedded engine: `SELECT * FROM who_deleted`.

A view has all rows. Conditions that a statement puts on its columns `time` and `bucket` reach the tables, so that only
the files are read that can hold such rows.
"""

from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BooleanType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestamptzType,
)

from frazil.minio.questions.bind import statement
from frazil.minio.questions.catalog import VIEWS
from frazil.minio.questions.question import Question, Value
from frazil.sql.view import Bounds

_TYPES: dict[IcebergType, frozenset[str]] = {
    TimestamptzType(): frozenset(
        {"time", "hour", "assumed_at", "expires_at", "first_call", "last_call", "first_time", "last_time"}
    ),
    LongType(): frozenset(
        {
            "calls", "reads", "writes", "deletes", "lists", "errors", "buckets", "hosts", "users", "denied", "failed",
            "times", "bytes_in", "bytes_out",
        }
    ),
    IntegerType(): frozenset({"status"}),
    DoubleType(): frozenset(
        {
            "duration_ms", "first_byte_ms", "read_ms", "write_ms", "read_blocked_ms", "write_blocked_ms", "busy_s",
            "percent",
        }
    ),
    BooleanType(): frozenset({"trusted", "session_policy"}),
}  # fmt: skip


def view_schema(question: Question) -> Schema:
    """Columns of the answer to a question, with their types."""
    return Schema(*(NestedField(number, name, _type(name)) for number, name in enumerate(question.columns, 1)))


def _type(column: str) -> IcebergType:
    if column == "claims":
        return MapType(100, StringType(), 101, StringType(), value_required=False)
    return next((type_ for type_, names in _TYPES.items() if column in names), StringType())


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
