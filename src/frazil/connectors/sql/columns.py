"""The columns of a topic as a statement sees them: from `frazil.sql.schema` to Spark, and from Spark's rows back."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from frazil.connectors.sql.grammar import SparkAsWritten
from frazil.connectors.sql.places import parse_problem
from frazil.pipeline.types import Field, List, Map, Scalar, ScalarKind, Struct, Type

_Kind = exp.DataType.Type
_FROM_SQL: dict[Any, ScalarKind] = {
    _Kind.BOOLEAN: "boolean",
    _Kind.INT: "int",
    _Kind.BIGINT: "long",
    _Kind.FLOAT: "float",
    _Kind.DOUBLE: "double",
    _Kind.TEXT: "string",
    _Kind.BINARY: "binary",
    _Kind.VARBINARY: "binary",
    _Kind.DATE: "date",
    _Kind.TIMESTAMP: "timestamptz",
    _Kind.TIMESTAMPTZ: "timestamptz",
    _Kind.TIMESTAMPLTZ: "timestamptz",
    _Kind.TIMESTAMPNTZ: "timestamp",
}
_TO_SQL: dict[ScalarKind, str] = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "binary": "BINARY",
    "date": "DATE",
    "timestamptz": "TIMESTAMP",
    "timestamp": "TIMESTAMP_NTZ",
}
_MOST_PRECISION = 38
_KNOWN = f"{', '.join(_TO_SQL.values())}, DECIMAL(p, s), ARRAY<…>, MAP<…, …>, STRUCT<name: …>"


@lru_cache(maxsize=64)
def parse_columns(text: str) -> Struct:
    """Read columns as `id BIGINT NOT NULL, page STRING`. Raises ValueError with the reason."""
    statement = f"CREATE TABLE t (\n{text}\n)"
    try:
        (table,) = SparkAsWritten().parse(statement)
    except (ParseError, TokenError, RecursionError) as error:
        raise ValueError(parse_problem(error, statement, before=1)) from None
    except ValueError as error:
        raise ValueError(f"it cannot be read: {error}") from None
    schema = table.this if isinstance(table, exp.Create) else None
    more = [key for key, value in table.args.items() if value and key not in ("this", "kind")] if table else []
    if not isinstance(schema, exp.Schema) or more or not schema.expressions:
        raise ValueError("columns are written as name TYPE, separated by commas")
    return Struct(_fields(schema.expressions, ""))


def _fields(columns: list[exp.Expr], path: str) -> tuple[Field, ...]:
    fields: dict[str, Field] = {}
    for column in columns:
        if not isinstance(column, exp.ColumnDef) or not isinstance(column.kind, exp.DataType):
            raise ValueError(f"{column.sql(dialect='databricks')!r} is no column; write name TYPE")
        name = column.name
        if name.lower() in fields or name.startswith("_"):
            reason = "names that begin with _ are those of metadata" if name.startswith("_") else "it is there twice"
            raise ValueError(f"column {path}{name}: {reason}")
        constraints = [each.kind for each in column.args.get("constraints") or ()]
        if any(
            not isinstance(each, exp.NotNullColumnConstraint) or each.args.get("allow_null") for each in constraints
        ):
            raise ValueError(f"column {path}{name} can be NOT NULL, and nothing else")
        fields[name.lower()] = Field(name, _type(column.kind, f"{path}{name}"), required=bool(constraints))
    return tuple(fields.values())


def _type(found: exp.DataType, path: str) -> Type:
    inside = found.expressions
    kind = found.this
    if kind == _Kind.ARRAY and len(inside) == 1:
        return List(_type(inside[0], f"{path}[]"))
    if kind == _Kind.MAP and len(inside) == 2:
        key = _type(inside[0], f"{path} (key)")
        if key != Scalar("string"):
            raise ValueError(f"column {path}: keys of a map are STRING, as those of JSON are")
        return Map(key, _type(inside[1], f"{path} (value)"))
    if kind == _Kind.STRUCT and inside:
        return Struct(_fields(inside, f"{path}."))
    if kind == _Kind.DECIMAL:
        precision, scale = [int(each.name) for each in inside] + [10, 0][len(inside) :]
        if not 1 <= precision <= _MOST_PRECISION or not 0 <= scale <= precision:
            raise ValueError(f"column {path}: DECIMAL needs a precision of 1 to 38 and no larger scale")
        return Scalar("decimal", precision=precision, scale=scale)
    scalar = _FROM_SQL.get(kind)
    if scalar is None or inside:
        raise ValueError(f"column {path}: {found.sql(dialect='databricks')} is no type here; there are {_KNOWN}")
    return Scalar(scalar)


def spark_columns(struct: Struct) -> str:
    """Write columns as Spark's DDL; any of them may be null there, for what is required is checked before."""
    return ", ".join(f"{_quoted(field.name)} {_spark_type(field.type)}" for field in struct.fields)


def _spark_type(type_: Type) -> str:
    match type_:
        case Struct(fields):
            return f"STRUCT<{', '.join(map(_member, fields))}>"
        case List(element):
            return f"ARRAY<{_spark_type(element)}>"
        case Map(key, value):
            return f"MAP<{_spark_type(key)}, {_spark_type(value)}>"
        case Scalar(kind="decimal", precision=precision, scale=scale):
            return f"DECIMAL({precision}, {scale})"
        case Scalar(kind=kind):
            return _TO_SQL[kind]


def _member(field: Field) -> str:
    return f"{_quoted(field.name)}: {_spark_type(field.type)}{' NOT NULL' if field.required else ''}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


_SCALARS: tuple[tuple[Callable[[pa.DataType], bool], Scalar, pa.DataType | None], ...] = (
    (pa.types.is_boolean, Scalar("boolean"), None),
    (lambda type_: type_ in (pa.int8(), pa.int16(), pa.int32()), Scalar("int"), pa.int32()),
    (pa.types.is_int64, Scalar("long"), None),
    (pa.types.is_float32, Scalar("float"), None),
    (pa.types.is_float64, Scalar("double"), None),
    (pa.types.is_string, Scalar("string"), None),
    (pa.types.is_binary, Scalar("binary"), None),
    (pa.types.is_date32, Scalar("date", origin="org.apache.kafka.connect.data.Date"), pa.int32()),
    (lambda type_: type_ == pa.timestamp("us"), Scalar("timestamp", origin="local-timestamp-micros"), pa.int64()),
    (pa.types.is_timestamp, Scalar("timestamptz", origin="timestamp-micros"), pa.int64()),
)
"""Arrow types of Spark's rows, what they are in the pipeline, and the numbers that it has for them."""


def shape_of(type_: pa.DataType, path: str = "") -> tuple[Type, pa.DataType]:
    """Tell what rows of a statement are in the pipeline, and the Arrow type that they have there.

    Raises ValueError for a type that no column of a table holds.
    """
    if pa.types.is_struct(type_):
        members = [(inner.name, *shape_of(inner.type, f"{path}{inner.name}.")) for inner in type_]
        fields = tuple(Field(name, shape) for name, shape, _ in members)
        return Struct(fields), pa.struct([pa.field(name, stored) for name, _, stored in members])
    if pa.types.is_list(type_):
        element, stored = shape_of(type_.value_type, path)
        return List(element), pa.list_(pa.field("element", stored))
    if pa.types.is_map(type_):
        key, key_stored = shape_of(type_.key_type, path)
        value, value_stored = shape_of(type_.item_type, path)
        return Map(key, value), pa.map_(key_stored, value_stored)
    if pa.types.is_decimal128(type_):
        return Scalar("decimal", precision=type_.precision, scale=type_.scale), type_
    for matches, scalar, stored in _SCALARS:
        if matches(type_):
            return scalar, type_ if stored is None else stored
    raise ValueError(
        f"column {path.rstrip('.') or 'of the statement'} is of type {type_}, which no table holds; CAST it"
    )
