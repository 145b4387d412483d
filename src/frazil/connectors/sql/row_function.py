"""Function of the worker's own Python that the rows of a statement go through."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from frazil.connectors.sql.functions import AGGREGATES, CHANGING, FUNCTIONS
from frazil.connectors.sql.statement import PLACE
from frazil.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PYTHON, PYTHON_FUNCTIONS = "frazil.python", "frazil.python.functions"
"""Keys of a connector that name functions."""

RowFunction: TypeAlias = "Callable[[DataFrame], DataFrame]"
_NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z]\w*)", re.ASCII)
_FUNCTION = re.compile(r"[a-z]\w*", re.ASCII)
_SHUFFLE = re.compile(r"^\(\d+\) Exchange\b", re.MULTILINE)


def is_function(name: str) -> bool:
    """Whether a function may be named so beside those of Spark."""
    return _FUNCTION.fullmatch(name) is not None and name not in FUNCTIONS | AGGREGATES | CHANGING


def is_name(text: str) -> bool:
    """Whether a text has the form of a function's name: `module:function`."""
    return _NAME.fullmatch(text) is not None


def problem_of_module(name: str, allowed: Collection[str]) -> str | None:
    """Tell why a function may not be imported."""
    found = _NAME.fullmatch(name)
    if found is not None and found[1] in allowed:
        return None
    return (
        f"It is of no module that FRAZIL_PYTHON_MODULES allows ({','.join(allowed) or 'none'}). Nothing was imported. "
        "Only who runs the worker can allow a module, in its environment"
    )


def load_function(name: str, allowed: Collection[str]) -> RowFunction:
    """Import a function by its name, such as `shop.rows:enrich`, of a module that is allowed; no other is imported.

    Raises ConfigError.
    """
    function: RowFunction = _loaded(PYTHON, name, allowed)
    return function


def load_udf(name: str, allowed: Collection[str]) -> Any:
    """Import an Arrow UDF by its name, as `load_function` does. Raises ConfigError."""
    from pyspark.util import PythonEvalType

    function: Any = _loaded(PYTHON_FUNCTIONS, name, allowed)
    if getattr(function, "evalType", None) != PythonEvalType.SQL_SCALAR_ARROW_UDF or not function.deterministic:
        raise ConfigError(
            f"{PYTHON_FUNCTIONS}: {name} is no function that gets pyarrow.Arrays and gives one; make it with "
            "@arrow_udf(LongType()), or another type, of pyspark.sql.functions"
        )
    return function


def _loaded(key: str, name: str, allowed: Collection[str]) -> Any:
    problem = problem_of_module(name, allowed)
    if problem is not None:
        raise ConfigError(f"{key}: {name}: {problem}")
    module, _, attribute = name.partition(":")
    try:
        function = vars(import_module(module)).get(attribute)
    except Exception as error:
        raise ConfigError(f"{key}: module {module} cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(function, FunctionType) or function.__module__ != module:
        raise ConfigError(f"{key}: module {module} has no function {attribute} of its own")
    return function


def applied(function: RowFunction, frame: DataFrame) -> DataFrame:
    """Let a function change the rows. Raises ConfigError where it fails, or its rows do not tell their records."""
    name = f"frazil.python: {function.__module__}:{function.__name__}"
    try:
        made = function(frame)
        columns = made.columns
    except Exception as error:
        raise ConfigError(f"{name} fails: {type(error).__name__}: {error}") from error
    if columns.count(PLACE) != 1 or made.schema[PLACE].dataType != frame.schema[PLACE].dataType:
        raise ConfigError(f"{name} gives rows without their column {PLACE}, which tells the record that a row is from")
    return made


def check_shuffle(function: RowFunction, plan: str) -> None:
    """Raise ConfigError where a function needs the rows of several tasks, by Spark's plan."""
    if _SHUFFLE.search(plan):
        raise ConfigError(
            f"frazil.python: {function.__module__}:{function.__name__} needs several records at a time (groups, "
            "orders, joins or divides anew), and a batch has any of them; only what is done row by row can be exact"
        )
