"""Functions that connectors of the tests name with `frazil.python`."""

from __future__ import annotations

from os.path import join as join  # which is none of this module's own
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.functions import arrow_udf, expr, udf  # type: ignore[attr-defined]
from pyspark.sql.types import LongType, StringType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

no_function = 5


def shout(frame: DataFrame) -> DataFrame:
    """Change, filter and add."""
    return frame.where("id <> 2").withColumn("text", expr("upper(text)")).withColumn("part", expr("100 / (id - 3)"))


def count(frame: DataFrame) -> DataFrame:
    """Group, which no rows can be exact for."""
    return frame.groupBy("_frazil").count()


def forget(frame: DataFrame) -> DataFrame:
    """Lose which records rows are from."""
    return frame.select("id")


def break_(frame: DataFrame) -> DataFrame:
    """Name a column that is not there."""
    return frame.select("nope")


@arrow_udf(LongType())  # type: ignore[untyped-decorator]
def twice(numbers: pa.Array) -> pa.Array:
    """Change a column."""
    return pc.multiply(numbers, 2)


@udf(returnType=StringType(), useArrow=False)
def slowly(text: str) -> str:
    """Change one value after the other."""
    return text
