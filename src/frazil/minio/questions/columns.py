"""Types of the columns that the questions answer with."""

from __future__ import annotations

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

from frazil.minio.questions.question import Question

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
